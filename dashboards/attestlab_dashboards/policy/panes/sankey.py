"""The flips by the rule that decided before and after, as a Sankey diagram."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.exports import export_part
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, PolicyText, describe_work, load_replay
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import name_decider, name_policies, when_replayed
from attestlab_dashboards.safe import html, join

_WIDTH, _HEIGHT, _LABEL, _NODE, _GAP = 620, 230, 150, 12, 14  # units of the Sankey's viewBox
_MAX_FLOWS: Final = 8
_MIN_BAND: Final = 2.0


class Flow(NamedTuple):
    """Flips with one decider before and one after."""

    before: str
    after: str
    opens: bool
    number: int


@when_replayed
def draw_sankey(data: DraftReplay, _state: PolicyState) -> Markup:
    """Draw the flips between the rules that decided before and those that decide after."""
    report = data.report
    assert report is not None, "`when_replayed` draws nothing else"
    flows = list_flows(data.about, report)
    if not flows:
        return html('<p class="po-none muted">No decision changes, so none changes its rule.</p>')
    shown = flows[:_MAX_FLOWS]
    rest = sum(flow.number for flow in flows[_MAX_FLOWS:])
    return html(
        '{chart}<p class="sub" data-tip-line>{line}</p>',
        chart=_draw_flows(shown),
        line=f"The largest {_MAX_FLOWS} of {len(flows)}, without {plural(rest, 'flip')}." if rest else " ",
    )


def list_flows(about: PolicyText, report: SimulationHandle) -> list[Flow]:
    """List the flips by the deciders before and after, DENY to ALLOW first."""
    names, own = name_policies(about), "" if about.policy is None else str(about.policy.id)
    counted: Counter[tuple[str, str, bool]] = Counter()
    for each in report.why:
        before = name_decider(each.policy_before, each.rule_before, names, own)
        after = name_decider(each.policy_after, each.rule_after, names, own)
        counted[f"{each.from_} by {before}", f"{each.to} by {after}", each.to == "ALLOW"] += each.count
    flows = [Flow(*key, number) for key, number in counted.items()]
    return sorted(flows, key=lambda flow: (not flow.opens, -flow.number, flow.before, flow.after))


def _draw_flows(flows: list[Flow]) -> Markup:
    total = sum(flow.number for flow in flows)
    sides = [list(dict.fromkeys(getattr(flow, side) for flow in flows)) for side in ("before", "after")]
    scale = (_HEIGHT - _GAP * (max(map(len, sides)) - 1)) / total
    tops = [_place_nodes(nodes, flows, side, scale) for nodes, side in zip(sides, ("before", "after"), strict=True)]
    used = [dict(top) for top in tops]
    bands = []
    for flow in flows:
        height = max(_MIN_BAND, flow.number * scale)
        bands.append(_draw_band(flow, used[0][flow.before], used[1][flow.after], height))
        used[0][flow.before] += flow.number * scale
        used[1][flow.after] += flow.number * scale
    nodes = [_draw_node(name, tops[0][name], flows, "before", scale) for name in sides[0]]
    nodes += [_draw_node(name, tops[1][name], flows, "after", scale) for name in sides[1]]
    return html(
        '<svg class="po-sankey" viewBox="0 -4 {width} {height}" role="img" aria-label="{label}">{bands}{nodes}</svg>',
        width=_WIDTH,
        height=_HEIGHT + 14,
        label="; ".join(map(describe_flow, flows[:3])),
        bands=join(bands),
        nodes=join(nodes),
    )


def describe_flow(flow: Flow) -> str:
    """Describe flips in words."""
    return f"{count(flow.number)}: {flow.before}, then {flow.after}"


def _place_nodes(nodes: list[str], flows: list[Flow], side: str, scale: float) -> dict[str, float]:
    """Return the top of each node of a side."""
    tops, y = {}, 0.0
    for name in nodes:
        tops[name] = y
        y += sum(flow.number for flow in flows if getattr(flow, side) == name) * scale + _GAP
    return tops


def _draw_band(flow: Flow, y0: float, y1: float, height: float) -> Markup:
    x0, x1 = _LABEL + _NODE, _WIDTH - _LABEL - _NODE
    middle = (x0 + x1) / 2
    shape = (
        f"M{x0},{y0:.1f}C{middle},{y0:.1f} {middle},{y1:.1f} {x1},{y1:.1f}V{y1 + height:.1f}"
        f"C{middle},{y1 + height:.1f} {middle},{y0 + height:.1f} {x0},{y0 + height:.1f}Z"
    )
    return html(
        '<path class="f-{tone}" fill-opacity=".42" d="{shape}" tabindex="0" data-tip="{tip}">'
        "<title>{tip}</title></path>",
        tone="red" if flow.opens else "c4",
        shape=shape,
        tip=describe_flow(flow),
    )


def _draw_node(name: str, top: float, flows: list[Flow], side: str, scale: float) -> Markup:
    number = sum(flow.number for flow in flows if getattr(flow, side) == name)
    height = max(_MIN_BAND, number * scale)
    is_left = side == "before"
    effect, _, rule = name.partition(" by ")
    x = _LABEL if is_left else _WIDTH - _LABEL - _NODE
    return html(
        '<rect class="f-{tone}" x="{x}" y="{y}" width="{width}" height="{height}" rx="1"></rect>'
        '<text class="po-t{end}" x="{tx}" y="{ty}"><tspan class="po-strong">{effect} {number}</tspan>'
        '<tspan x="{tx}" dy="15">{rule}</tspan></text>',
        tone="green" if effect == "ALLOW" else "c4",
        x=x,
        y=f"{top:.1f}",
        width=_NODE,
        height=f"{height:.1f}",
        end=" end" if is_left else "",
        tx=_LABEL - 8 if is_left else _WIDTH - _LABEL + 8,
        ty=f"{top + max(10.0, height / 2 - 2):.1f}",
        effect=effect,
        number=count(number),
        rule=rule if len(rule) <= 20 else f"{rule[:19]}…",
    )


PANE: Final = Pane(
    key="sankey",
    question="Which rules make the difference?",
    reading="Flips by the rule that decided, and the one that decides now",
    span=7,
    load=load_replay,
    draw=draw_sankey,
    reads=REPLAY_FIELDS,
    export=export_part("why"),
    copy_python=copy_simulation,
    is_long=True,
    expects=describe_work,
)
