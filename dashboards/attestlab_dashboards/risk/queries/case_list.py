"""The tenant's cases, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.risk.queries.cells import Row, find_time, read_number, read_text, read_time, read_whole
from attestlab_dashboards.risk.queries.names import load_issuer_names
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.widgets import PAGE_ROWS, count_pages

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


_WHERE: Final = {"open": "status = 'open'", "resolved": "status = 'resolved'", "all": "TRUE"}
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
    offset = PAGE_ROWS * (state.cases_page - 1)
    sql = _PAGE.format(where=_WHERE[state.cases], order=_ORDER, limit=PAGE_ROWS, offset=offset)
    rows = list(lab.sql(sql))
    cases = [_read_case(row) for row in rows if row["id"] is not None]
    if not cases and state.cases_page > 1:
        return load_cases(lab, state.change(cases_page=""))
    ids = [case.entity.id for case in cases if case.entity.type is EntityType.ISSUER]
    return CaseList(
        cases=cases,
        count=read_whole(rows[0], "total"),
        open_count=read_whole(rows[0], "open_count"),
        resolved_count=read_whole(rows[0], "resolved_count"),
        now=datetime.now(UTC),
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
