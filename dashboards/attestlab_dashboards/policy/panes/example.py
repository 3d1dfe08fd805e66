"""The drawer that explains an example as it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.decisions import ExplanationHandle
from attestlab.simulation.shapes import ExampleOut
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, short_id, utc
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.documents import describe_value
from attestlab_dashboards.policy.panes.examples import explain_flip, find_context
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, load_replay
from attestlab_dashboards.policy.rule_tree import draw_rule
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import effect_pill
from attestlab_dashboards.safe import NOTHING, html, join, path


class Example(NamedTuple):
    """An example with its context, and how it was decided; None if no policy was asked."""

    replay: DraftReplay
    example: ExampleOut | None
    context: Mapping[str, object]
    recorded: ExplanationHandle | None


def load_example(lab: Lab, state: PolicyState) -> Example | None:
    """Load the example in the drawer; None if it is closed, or there is no such example."""
    if not state.example:
        return None
    replay = load_replay(lab, state)
    if replay.report is None or state.example > len(replay.report.examples):
        return None
    example = replay.report.examples[state.example - 1]
    decision = example.decision_id
    recorded = share(lab).get(("decision", decision), lambda: lab.policies.explain(decision)) if decision else None
    return Example(replay, example, find_context(replay.report, state.example - 1), recorded)


def draw_example(data: Example | None, _state: PolicyState) -> Markup:
    """Draw the drawer: the values, how it was decided, and what the draft decides."""
    if data is None or data.example is None:
        return NOTHING
    example = data.example
    return html(
        '<aside class="al-drawer" role="dialog" aria-label="An example" tabindex="-1">'
        '<div class="ctitle"><div><h2>{title}</h2><div class="sub">{id}{at}</div></div>{close}</div>'
        '<div class="po-line">{before} <span aria-hidden="true">→</span> {after}<span>{why}</span></div>'
        '<p class="sub">{flips} for the same reason in the same segment.</p>'
        "{buttons}{values}{recorded}</aside>",
        title="A decision that would flip",
        id=short_id(example.decision_id or str(example.attestation_id)),
        at=html(", {at}", at=utc(data.recorded.created_at)) if data.recorded else NOTHING,
        close=html(
            '<button type="button" class="btn sm" data-ev="close" data-v="" data-key="close" data-focus>'
            "{icon}Close</button>",
            icon=icons.draw("cross"),
        ),
        before=effect_pill(example.from_),
        after=effect_pill(example.to),
        why=explain_flip(example, data.replay),
        flips="1 decision flips" if example.count == 1 else f"{count(example.count)} decisions flip",
        buttons=_draw_buttons(example),
        values=_draw_values(data),
        recorded=NOTHING if data.recorded is None else _draw_recorded(data.recorded),
    )


def _draw_buttons(example: ExampleOut) -> Markup:
    if example.decision_id is not None:
        return widgets.button("Try it in the form", ev="load", v=example.decision_id, primary=True)
    return html('<a class="btn sm" href="log?q={id}">Open in the log</a>', id=path(example.attestation_id or ""))


def _draw_values(data: Example) -> Markup:
    rows = join(
        html('<tr><th scope="row">{name}</th><td>{value}</td></tr>', name=name, value=describe_value(value))
        for name, value in data.context.items()
    )
    return html('<h3>Values</h3><table class="t po-values"><tbody>{rows}</tbody></table>', rows=rows)


def _draw_recorded(recorded: ExplanationHandle) -> Markup:
    policies = join(
        html(
            '<p class="sub">{name}, version {version}</p>{rules}',
            name=policy.name,
            version=policy.version,
            rules=join(draw_rule(rule, recorded.matched_rule if policy.deciding else None) for rule in policy.rules),
        )
        for policy in recorded.policies
    )
    return html("<h3>As it was decided</h3>{policies}", policies=policies)


PANE: Final = Pane(
    key="example",
    load=load_example,
    draw=draw_example,
    reads=(*REPLAY_FIELDS, "example"),
)
