"""Examples of what flips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab.simulation.shapes import ExampleOut
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.documents import describe_witness
from attestlab_dashboards.policy.exports import export_part
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, describe_work, load_replay
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import effect_pill, name_decider, name_decisions, name_policies, when_replayed
from attestlab_dashboards.safe import html

_SHOWN: Final = 25
_MAX_VALUES: Final = 4  # of a context in a row
_COLUMNS: Final = (
    widgets.TableColumn("Decision"),
    widgets.TableColumn("Values", phone=False),
    widgets.TableColumn("Before, after"),
    widgets.TableColumn("Because", phone=False),
    widgets.TableColumn("Like it", align="right"),
)


@when_replayed
def draw_examples(data: DraftReplay, _state: PolicyState) -> Markup:
    """Draw an example for each reason and segment, newly allowed ones first."""
    report = data.report
    assert report is not None, "`when_replayed` draws nothing else"
    if not report.examples:
        return html('<p class="po-none muted">No decision changes.</p>')
    shown = report.examples[:_SHOWN]
    rows = [_draw_example(each, find_context(report, place), data) for place, each in enumerate(shown)]
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
    return f"{plural(shown, 'example')} of {name_decisions(data.about, changed)}, newly allowed first"


def find_context(report: SimulationHandle, place: int) -> Mapping[str, object]:
    """Find the values of an example by its place in the report."""
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
        html("{why}", why=explain_flip(example, data)),
        html("{n}", n=count(example.count)),
    ]


def _shorten(example: ExampleOut) -> str:
    found = example.decision_id or str(example.attestation_id or "")
    return f"{found[:8]}…{found[-4:]}" if len(found) > 16 else found


def explain_flip(example: ExampleOut, data: DraftReplay) -> str:
    """Explain a flip by its deciders."""
    names, own = name_policies(data.about), "" if data.about.policy is None else str(data.about.policy.id)
    before = name_decider(example.policy_before, example.rule_before, names, own)
    after = name_decider(example.policy_after, example.rule_after, names, own)
    return f"{after}, not {before}" if before != after else after


PANE: Final = Pane(
    key="examples",
    question="Which decisions would flip?",
    reading=describe_examples,
    span=8,
    load=load_replay,
    draw=draw_examples,
    reads=REPLAY_FIELDS,
    export=export_part("examples"),
    copy_python=copy_simulation,
    is_long=True,
    expects=describe_work,
)
