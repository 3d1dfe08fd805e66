"""What changes: decisions by result, before and after."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards.formats import count, percent
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.exports import export_part
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, describe_work, load_replay
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import name_decisions, when_replayed
from attestlab_dashboards.safe import NOTHING, html, join

_EFFECTS: Final = ("ALLOW", "DENY")


@when_replayed
def draw_matrix(data: DraftReplay, _state: PolicyState) -> Markup:
    """Draw how many decisions have each result before and after."""
    report = data.report
    assert report is not None, "`when_replayed` draws nothing else"
    rows = join(_draw_row(before, report) for before in _EFFECTS)
    active = None if data.about.policy is None else data.about.policy.active_version
    return html(
        '<table class="po-matrix"><caption class="al-hidden">Decisions by result before and after</caption>'
        '<thead><tr><td></td><th scope="col">to ALLOW</th><th scope="col">to DENY</th></tr></thead>'
        '<tbody>{rows}</tbody></table><p class="sub">Rows: {before}. Columns: {after}. {all}.{unasked}</p>',
        rows=rows,
        before="what was decided" if active is None else f"version {active}",
        after=data.about.name,
        all=name_decisions(data.about, report.decided),
        unasked=html(" {n} of them were never asked, because no policy applied.", n=count(report.unasked))
        if report.unasked
        else NOTHING,
    )


def _draw_row(before: str, report: SimulationHandle) -> Markup:
    cells = join(_draw_cell(before, after, report) for after in _EFFECTS)
    return html('<tr><th scope="row">{before}</th>{cells}</tr>', before=before, cells=cells)


def _draw_cell(before: str, after: str, report: SimulationHandle) -> Markup:
    number = report.count_flips(before, after)
    kind, word = {
        ("ALLOW", "DENY"): ("stricter", f"newly denied, {percent(number, report.decided)}"),
        ("DENY", "ALLOW"): ("opened", f"newly allowed, {percent(number, report.decided)}"),
    }.get((before, after), ("same", "same"))
    return html(
        '<td class="{kind}{none}"><b>{number}</b><span>{word}</span></td>',
        kind=kind,
        none="" if number else " none",
        number=count(number),
        word=word,
    )


PANE: Final = Pane(
    key="matrix",
    question="What changes?",
    reading="Decisions by result, before and after",
    span=5,
    load=load_replay,
    draw=draw_matrix,
    reads=REPLAY_FIELDS,
    export=export_part("transitions"),
    copy_python=copy_simulation,
    is_long=True,
    expects=describe_work,
)
