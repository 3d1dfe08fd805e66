"""All cases of the tenant with their outcomes, once a person chooses which; the open ones are in the queue, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.row_iterator import Row
from attestlab.client.analysis.rows import Rows
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.cells import find_time, read_number, read_text, read_time, read_whole
from attestlab_dashboards.formats import count, short_id, time_tag
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.risk.state import RiskState, write_entity_key
from attestlab_dashboards.risk.words import draw_entity, draw_state
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import SHORT_PAGE_ROWS, TableColumn, count_pages, empty, pager, table

READS: Final = ("cases", "cases_page")


class ListedCase(NamedTuple):
    """A case: the escalated signals of an entity. `state` is `open`, or its outcome."""

    id: str
    entity: Entity
    signals: int
    score: float
    opened_at: datetime
    resolved_at: datetime | None
    state: str
    note: str


@dataclass(frozen=True)
class CaseList:
    """A page of cases, how many match, how many are open, and how many are resolved."""

    cases: Sequence[ListedCase]
    count: int
    open_count: int
    resolved_count: int
    now: datetime
    names: Mapping[str, str]

    @property
    def pages(self) -> int:
        """The number of pages, at least 1."""
        return count_pages(self.count)


_WHERE: Final = {"open": "status = 'open'", "resolved": "status = 'resolved'", "all": "TRUE", "": "TRUE"}
_ORDER: Final = "coalesce(resolved_at, opened_at) DESC, max_score DESC, id"
_PAGE: Final = """
WITH counts AS (
    SELECT count(*) FILTER ({where}) AS total, count(*) FILTER (status = 'open') AS open_count,
        count(*) FILTER (status = 'resolved') AS resolved_count
    FROM cases
), page AS (SELECT * FROM cases WHERE {where} ORDER BY {order} LIMIT {limit} OFFSET {offset})
SELECT counts.*, page.* FROM counts LEFT JOIN page ON TRUE ORDER BY {order}
"""


def load_cases(lab: Lab, state: RiskState) -> CaseList:
    """Load a page of cases; a page beyond the last one is the last one."""
    offset = SHORT_PAGE_ROWS * (state.cases_page - 1)
    limit = SHORT_PAGE_ROWS if state.cases else 0
    sql = _PAGE.format(where=_WHERE[state.cases], order=_ORDER, limit=limit, offset=offset)
    rows = list(lab.sql(sql))
    cases = [_read_case(row) for row in rows if row["id"] is not None]
    if state.cases and not cases and state.cases_page > 1:
        return load_cases(lab, state.change(cases_page=""))
    ids = [case.entity.id for case in cases if case.entity.type is EntityType.ISSUER]
    return CaseList(
        cases=cases,
        count=read_whole(rows[0], "total"),
        open_count=read_whole(rows[0], "open_count"),
        resolved_count=read_whole(rows[0], "resolved_count"),
        now=lab.now(),
        names=load_issuer_names(lab, ids),
    )


def export_cases(lab: Lab, state: RiskState) -> Rows:
    """Return all cases of this status, as rows."""
    return lab.sql(copy_cases_sql(state))


def copy_cases_sql(state: RiskState) -> str:
    """Return the query of all cases of this status."""
    return f"SELECT * FROM cases WHERE {_WHERE[state.cases]} ORDER BY {_ORDER}"


def _read_case(row: Row) -> ListedCase:
    return ListedCase(
        id=read_text(row, "id"),
        entity=Entity(EntityType(read_text(row, "entity_type")), read_text(row, "entity_id")),
        signals=read_whole(row, "signal_count"),
        score=read_number(row, "max_score"),
        opened_at=read_time(row, "opened_at"),
        resolved_at=find_time(row, "resolved_at"),
        state=read_text(row, "outcome") or read_text(row, "status"),
        note=read_text(row, "note"),
    )


_COLUMNS: Final = (
    TableColumn("Entity"),
    TableColumn("Highest score", "right", phone=False),
    TableColumn("Signals", "right", phone=False),
    TableColumn("Opened", "right", phone=False),
    TableColumn("Outcome"),
    TableColumn("Note", phone=False),
    TableColumn("Case", phone=False),
)


def draw_cases(found: CaseList, state: RiskState) -> Markup:
    """Draw a page of cases."""
    numbers = {
        "open": found.open_count,
        "resolved": found.resolved_count,
        "all": found.open_count + found.resolved_count,
    }
    chips = join(_draw_choice(name, number, is_chosen=name == state.cases) for name, number in numbers.items())
    if not state.cases:
        return html('<div class="chips">{chips}</div>', chips=chips)
    if not found.cases:
        body = empty(
            "No case here", "A signal at the escalation threshold opens a case. The row above shows the others."
        )
    else:
        body = table(
            _COLUMNS,
            [_draw_row(case, found) for case in found.cases],
            caption="Cases",
            keys=[write_entity_key(case.entity) for case in found.cases],
            row_ev="entity",
            marks=[case.id for case in found.cases],
        )
    turn = pager(min(state.cases_page, found.pages), found.pages, ev="cases_page")
    return html('<div class="chips">{chips}</div>{body}{pager}', chips=chips, body=body, pager=turn)


def tell_how(_found: CaseList, state: RiskState) -> str:
    """Write what a person does with the card."""
    return "Open a row to see its entity, where an open case is resolved" if state.cases else "Choose those to list"


def _draw_choice(name: str, number: int, *, is_chosen: bool) -> Markup:
    """Draw the chip that lists the cases of a status, or lists none again."""
    label = f"{name.capitalize()} {count(number)}"
    return html(
        '<button type="button" class="chip{x}" data-ev="cases" data-v="{v}" data-key="cases:{name}" '
        'aria-pressed="{pressed}">{label}</button>',
        x=" x" if is_chosen else "",
        v="" if is_chosen else name,
        name=name,
        pressed="true" if is_chosen else "false",
        label=label,
    )


def _draw_row(case: ListedCase, found: CaseList) -> list[Markup]:
    return [
        draw_entity(case.entity, found.names),
        html("{score}", score=f"{case.score:.4g}"),
        html("{signals}", signals=count(case.signals)),
        time_tag(case.opened_at, found.now),
        draw_state(case.state),
        html('<span class="rk-case-note" title="{note}">{note}</span>', note=case.note) if case.note else NOTHING,
        short_id(case.id),
    ]


PANE: Final = Pane(
    key="cases",
    question="All cases",
    span=6,
    how=tell_how,
    load=load_cases,
    draw=draw_cases,
    reads=READS,
    copy_sql=copy_cases_sql,
    export=export_cases,
    is_common=True,
)
