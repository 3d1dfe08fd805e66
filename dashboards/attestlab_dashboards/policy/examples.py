"""Examples of what flips, with the drawer that explains one as it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.policies import ExplanationHandle, SimulationHandle
from attestlab.simulation.shapes import ExampleOut
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, short_id, utc
from attestlab_dashboards.policy.decision_card import draw_rule
from attestlab_dashboards.policy.documents import describe_value, describe_witness
from attestlab_dashboards.policy.queries import DraftReplay, load_replay
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import effect_pill, name_decider, name_decisions, name_policies, when_replayed
from attestlab_dashboards.safe import NOTHING, html, join, path

_SHOWN: Final = 25
_MAX_VALUES: Final = 4  # of a context in a row
_COLUMNS: Final = (
    widgets.Column("Decision"),
    widgets.Column("Values", phone=False),
    widgets.Column("Before, after"),
    widgets.Column("Because", phone=False),
    widgets.Column("Like it", align="right"),
)


class Example(NamedTuple):
    """An example with its context, and how it was decided; None if no policy was asked."""

    replay: DraftReplay
    example: ExampleOut | None
    context: Mapping[str, object]
    recorded: ExplanationHandle | None


@when_replayed
def draw_examples(data: DraftReplay, _state: PolicyState) -> Markup:
    """Draw an example for each reason and segment, newly allowed ones first."""
    report = data.report
    assert report is not None, "`when_replayed` draws nothing else"
    if not report.examples:
        return html('<p class="po-none muted">No decision changes.</p>')
    shown = report.examples[:_SHOWN]
    rows = [_draw_example(each, _context_of(report, place), data) for place, each in enumerate(shown)]
    keys = [str(place + 1) for place in range(len(shown))]
    return html(
        '{table}<p class="sub">One example for each reason in each segment. '
        '"Like it" counts the flips with the same ones.</p>',
        table=widgets.table(_COLUMNS, rows, caption="Decisions that would flip", keys=keys, row_ev="example"),
    )


def describe_examples(data: DraftReplay, _state: PolicyState) -> str:
    """Describe how many examples there are."""
    if data.report is None:
        return ""
    changed = data.report.newly_allowed + data.report.newly_denied
    shown = min(_SHOWN, len(data.report.examples))
    return f"{shown} examples of {name_decisions(data.about, changed)}, newly allowed first"


def _context_of(report: SimulationHandle, place: int) -> Mapping[str, object]:
    return report.contexts[place] if place < len(report.contexts) else {}


def _draw_example(example: ExampleOut, context: Mapping[str, object], data: DraftReplay) -> list[Markup]:
    return [
        html("<code>{id}</code>", id=_shorten(example)),
        html("{words}", words=describe_witness(dict([*context.items()][:_MAX_VALUES]))),
        html(
            '<span class="nw">{before} <span aria-hidden="true">→</span> <span class="al-hidden">then</span>'
            "{after}</span>",
            before=effect_pill(example.from_),
            after=effect_pill(example.to),
        ),
        html("{why}", why=_explain(example, data)),
        html("{n}", n=count(example.count)),
    ]


def _shorten(example: ExampleOut) -> str:
    found = example.decision_id or str(example.attestation_id or "")
    return f"{found[:8]}…{found[-4:]}" if len(found) > 16 else found


def _explain(example: ExampleOut, data: DraftReplay) -> str:
    """Explain a flip by its deciders."""
    names, own = name_policies(data.about), "" if data.about.policy is None else str(data.about.policy.id)
    before = name_decider(example.policy_before, example.rule_before, names, own)
    after = name_decider(example.policy_after, example.rule_after, names, own)
    return f"{after}, not {before}" if before != after else after


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
    return Example(replay, example, _context_of(replay.report, state.example - 1), recorded)


def draw_example(data: Example | None, _state: PolicyState) -> Markup:
    """Draw the drawer: the values, how it was decided, and what the draft decides."""
    if data is None or data.example is None:
        return NOTHING
    example = data.example
    return html(
        '<aside class="al-drawer" role="dialog" aria-label="An example" tabindex="-1">'
        '<div class="ctitle"><div><h2>{title}</h2><div class="sub">{id}{at}</div></div>{close}</div>'
        '<div class="po-line">{before} <span aria-hidden="true">→</span> {after}<span>{why}</span></div>'
        '<p class="sub">{n} decisions flip for the same reason in the same segment.</p>'
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
        why=_explain(example, data.replay),
        n=count(example.count),
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
