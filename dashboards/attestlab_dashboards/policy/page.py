"""The policy simulator as a page: its panes, events and actions."""

from __future__ import annotations

from typing import Any, Final

from attestlab import Lab
from attestlab_dashboards.pages import DashboardPage, Pane
from attestlab_dashboards.policy import queries
from attestlab_dashboards.policy.actions import ACTIONS
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.events import EVENTS
from attestlab_dashboards.policy.exports import export_part
from attestlab_dashboards.policy.filters import draw_chips
from attestlab_dashboards.policy.history import load_summary
from attestlab_dashboards.policy.panes import (
    activation,
    answer,
    curve,
    dialog,
    draft,
    example,
    examples,
    issuers,
    kpis,
    map,
    matrix,
    rules,
    sankey,
    segments,
)
from attestlab_dashboards.policy.panes.decision import (
    DECIDING_FIELDS,
    copy_decision,
    draw_decision,
    export_decision,
    load_decision,
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
    Pane(key="answer", load=queries.load_replay, draw=answer.draw_answer, reads=REPLAY_FIELDS),
    Pane(key="kpis", load=load_summary, draw=kpis.draw_summary, reads=REPLAY_FIELDS),
    _pane(
        "draft",
        "What are the rules?",
        draft.describe_text,
        7,
        queries.load_replay,
        draft.draw_editor,
        export=draft.export_rules,
        copy_python=copy_simulation,
    ),
    _pane(
        "decision",
        "What about this one?",
        "One decision by this text alone; change a value and see the answer. Nothing is recorded",
        5,
        load_decision,
        draw_decision,
        reads=DECIDING_FIELDS,
        export=export_decision,
        copy_python=copy_decision,
    ),
    _pane(
        "matrix",
        "What changes?",
        "Decisions by result, before and after",
        5,
        queries.load_replay,
        matrix.draw_matrix,
        export=export_part("transitions"),
        copy_python=copy_simulation,
    ),
    _pane(
        "sankey",
        "Which rules make the difference?",
        "Flips by the rule that decided, and the one that decides now",
        7,
        queries.load_replay,
        sankey.draw_sankey,
        export=export_part("why"),
        copy_python=copy_simulation,
    ),
    _pane(
        "segments",
        "Who does it hit?",
        "Flips by segment, newly allowed first",
        7,
        queries.load_replay,
        segments.draw_segments,
        export=export_part("flips"),
        copy_python=copy_simulation,
    ),
    _pane(
        "issuers",
        "Which issuers does it hit?",
        "Flips by issuer, newly allowed first",
        5,
        load_summary,
        issuers.draw_issuers,
        export=issuers.export_issuers,
        copy_python=issuers.copy_issuers,
    ),
    _pane(
        "curve",
        "Where should the line be?",
        _describe_curve,
        7,
        _load_curve,
        curve.draw_curve,
        reads=(*REPLAY_FIELDS, "sweep"),
        export=curve.export_sweep,
        copy_python=curve.copy_sweep,
    ),
    _pane(
        "map",
        "And two lines at once?",
        _describe_map,
        5,
        _load_map,
        map.draw_map,
        reads=(*REPLAY_FIELDS, "sweep", "second"),
        export=map.export_map,
        copy_python=map.copy_map,
    ),
    _pane(
        "rules",
        "What does each rule do?",
        "Hits in the window; decisive: the rule gave the answer; change in denials against the draft without it",
        12,
        queries.load_proof,
        rules.draw_rules,
        export=export_part("rules"),
        copy_python=rules.copy_analysis,
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
        export=activation.export_conditions,
        copy_python=rules.copy_analysis,
    ),
    Pane(key="example", load=example.load_example, draw=example.draw_example, reads=(*REPLAY_FIELDS, "example")),
    Pane(key="dialog", load=dialog.load_dialog, draw=dialog.draw_dialog, reads=(*REPLAY_FIELDS, "dialog")),
)

PAGE: Final = DashboardPage[PolicyState](
    path="policy",
    name="Policy",
    question="What would this rule have done?",
    state=PolicyState,
    chips=draw_chips,
    panes=PANES,
    events=EVENTS,
    actions=ACTIONS,
)
