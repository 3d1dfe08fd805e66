"""The policy simulator as a page: its panes, events and actions."""

from __future__ import annotations

from typing import Any, Final

from attestlab import Lab
from attestlab_dashboards.pages import DashboardPage, Pane
from attestlab_dashboards.policy import (
    activation,
    curves,
    deciding,
    decision_card,
    editor,
    examples,
    hits,
    queries,
    rule_table,
    summary,
    transitions,
)
from attestlab_dashboards.policy.actions import ACTIONS
from attestlab_dashboards.policy.copying import (
    copy_analysis,
    copy_decision,
    copy_issuers,
    copy_map,
    copy_simulation,
    copy_sweep,
)
from attestlab_dashboards.policy.events import EVENTS
from attestlab_dashboards.policy.exports import (
    export_conditions,
    export_decision,
    export_issuers,
    export_map,
    export_part,
    export_rules,
    export_sweep,
)
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, Sweep
from attestlab_dashboards.policy.state import PolicyState


def _load_curve(lab: Lab, state: PolicyState) -> Sweep:
    return queries.load_sweep(lab, state, 1)


def _load_map(lab: Lab, state: PolicyState) -> Sweep:
    return queries.load_sweep(lab, state, 2)


def _describe_curve(data: Sweep, _state: PolicyState) -> str:
    return f"Share of decisions, %, for every value of {data.chosen[0].attribute}" if data.chosen else ""


def _describe_map(data: Sweep, _state: PolicyState) -> str:
    return (
        f"Share denied by {data.chosen[1].attribute} (up) and {data.chosen[0].attribute} (across)"
        if len(data.chosen) > 1
        else ""
    )


def _pane(
    key: str, question: str, reading: Any, span: int, load: Any, draw: Any, **more: Any
) -> Pane[PolicyState, Any]:
    more.setdefault("reads", REPLAY_FIELDS)
    long: dict[str, Any] = {"is_long": True, "expects": queries.describe_work}
    return Pane(key=key, question=question, reading=reading, span=span, load=load, draw=draw, **long, **more)


PANES: Final[tuple[Pane[PolicyState, Any], ...]] = (
    Pane(key="answer", load=queries.load_replay, draw=summary.draw_answer, reads=REPLAY_FIELDS),
    Pane(key="kpis", load=summary.load_summary, draw=summary.draw_summary, reads=REPLAY_FIELDS),
    _pane(
        "draft",
        "What are the rules?",
        editor.describe_text,
        7,
        queries.load_replay,
        editor.draw_editor,
        export=export_rules,
        copy_python=copy_simulation,
    ),
    _pane(
        "decision",
        "What about this one?",
        "One decision by this text alone; change a value and see the answer. Nothing is recorded",
        5,
        deciding.load_decision,
        decision_card.draw_decision,
        reads=deciding.DECIDING_FIELDS,
        export=export_decision,
        copy_python=copy_decision,
    ),
    _pane(
        "matrix",
        "What changes?",
        "Decisions by result, before and after",
        5,
        queries.load_replay,
        transitions.draw_matrix,
        export=export_part("transitions"),
        copy_python=copy_simulation,
    ),
    _pane(
        "sankey",
        "Which rules make the difference?",
        "Flips by the rule that decided, and the one that decides now",
        7,
        queries.load_replay,
        transitions.draw_sankey,
        export=export_part("why"),
        copy_python=copy_simulation,
    ),
    _pane(
        "segments",
        "Who does it hit?",
        "Flips by segment, newly allowed first",
        7,
        queries.load_replay,
        hits.draw_segments,
        export=export_part("flips"),
        copy_python=copy_simulation,
    ),
    _pane(
        "issuers",
        "Which issuers does it hit?",
        "Flips by issuer, newly allowed first",
        5,
        summary.load_summary,
        hits.draw_issuers,
        export=export_issuers,
        copy_python=copy_issuers,
    ),
    _pane(
        "curve",
        "Where should the line be?",
        _describe_curve,
        7,
        _load_curve,
        curves.draw_curve,
        reads=(*REPLAY_FIELDS, "sweep"),
        export=export_sweep,
        copy_python=copy_sweep,
    ),
    _pane(
        "map",
        "And two lines at once?",
        _describe_map,
        5,
        _load_map,
        curves.draw_map,
        reads=(*REPLAY_FIELDS, "sweep", "second"),
        export=export_map,
        copy_python=copy_map,
    ),
    _pane(
        "rules",
        "What does each rule do?",
        "Hits in the window; decisive: the rule gave the answer; change in denials against the draft without it",
        12,
        queries.load_proof,
        rule_table.draw_rules,
        export=export_part("rules"),
        copy_python=copy_analysis,
    ),
    _pane(
        "examples",
        "Which decisions would flip?",
        examples.describe_examples,
        8,
        queries.load_replay,
        examples.draw_examples,
        export=export_part("examples"),
        copy_python=copy_simulation,
    ),
    _pane(
        "activation",
        "May it be activated?",
        "The service checks each of these again",
        4,
        activation.load_readiness,
        activation.draw_activation,
        export=export_conditions,
        copy_python=copy_analysis,
    ),
    Pane(key="example", load=examples.load_example, draw=examples.draw_example, reads=(*REPLAY_FIELDS, "example")),
    Pane(key="dialog", load=activation.load_dialog, draw=activation.draw_dialog, reads=(*REPLAY_FIELDS, "dialog")),
)

PAGE: Final = DashboardPage[PolicyState](
    path="policy",
    name="Policy",
    question="What would this rule have done?",
    state=PolicyState,
    chips=summary.draw_chips,
    panes=PANES,
    events=EVENTS,
    actions=ACTIONS,
)
