"""The entries of the log as a table, newest first, and how the log grew; paged and counted by the lake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.widgets import PAGE_ROWS, count_pages

GROWTH_POINTS: Final = 90

_FILTERED: Final = """
FROM log_entries e LEFT JOIN issuers i ON i.id = e.issuer_id
WHERE ($type = '' OR e.type = $type) AND ($issuer = '' OR e.issuer_id = $issuer)
"""
# One query for a page, its total and the counts of both filters: the lake runs one query at a time for each tenant.
ENTRIES: Final = f"""
WITH page AS (
  SELECT e.log_index, e.logged_at, CAST(e.type AS VARCHAR) AS type, e.issuer_id, e.attestation_id, e.kid, e.leaf_hash,
    i.name AS issuer
  {_FILTERED} ORDER BY e.log_index DESC LIMIT {PAGE_ROWS} OFFSET $skipped),
types AS (SELECT CAST(type AS VARCHAR) AS type, count(*) AS n FROM log_entries GROUP BY ALL),
named AS (
  SELECT i.id, i.name, count(*) AS n FROM log_entries e JOIN issuers i ON i.id = e.issuer_id
  GROUP BY ALL ORDER BY n DESC, i.name LIMIT 50)
SELECT 'row' AS kind, log_index, logged_at, type, issuer_id, attestation_id, kid, leaf_hash, issuer, 0 AS n FROM page
UNION ALL SELECT 'total', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, count(*) {_FILTERED}
UNION ALL SELECT 'type', NULL, NULL, type, NULL, NULL, NULL, NULL, NULL, n FROM types
UNION ALL SELECT 'issuer', NULL, NULL, NULL, id, NULL, NULL, NULL, name, n FROM named
"""
EXPORTED: Final = f"""
SELECT e.log_index, e.logged_at, e.type, e.issuer_id, i.name AS issuer, e.attestation_id, e.kid, e.alg, e.status,
  e.leaf_hash, e.entry
{_FILTERED} ORDER BY e.log_index DESC
"""
GROWTH: Final = """
WITH days AS (
  SELECT CAST(date_trunc('day', logged_at) AS TIMESTAMPTZ) AS day, count(*) AS n FROM log_entries GROUP BY ALL),
grown AS (SELECT day, n, sum(n) OVER (ORDER BY day) AS entries FROM days)
SELECT day, n, CAST(entries AS BIGINT) AS entries FROM grown ORDER BY day DESC
"""


@dataclass(frozen=True)
class EntryRow:
    """A row of the table; `issuer` is a name, None for another tenant's or for an entry without an issuer."""

    index: int
    at: datetime
    type: str
    issuer_id: str | None
    issuer: str | None
    attestation_id: str | None
    kid: str | None
    leaf_hash: str


@dataclass(frozen=True)
class EntryPage:
    """A page of entries, the total of the filtered ones, and the counts of the filters' choices over the whole log."""

    rows: tuple[EntryRow, ...]
    total: int
    types: tuple[tuple[str, int], ...]
    issuers: tuple[tuple[str, str, int], ...]  # id, name, entries
    now: datetime

    @property
    def pages(self) -> int:
        """How many pages the filtered entries have, at least one."""
        return count_pages(self.total)


@dataclass(frozen=True)
class GrowthDay:
    """A day on which entries were logged: how many, and the size of the log at its end."""

    day: datetime
    added: int
    size: int


def load_entries(lab: Lab, state: LogState) -> EntryPage:
    """Load a page of entries."""
    parameters = {**filter_parameters(state), "skipped": (state.page - 1) * PAGE_ROWS}
    by_kind: dict[str, list[dict[str, object]]] = {"row": [], "total": [], "type": [], "issuer": []}
    for row in lab.sql(ENTRIES, parameters):
        by_kind[str(row["kind"])].append(row)
    rows = sorted((_read_row(row) for row in by_kind["row"]), key=lambda row: -row.index)
    types = sorted((str(row["type"]), int(str(row["n"]))) for row in by_kind["type"])
    issuers = [(str(row["issuer_id"]), str(row["issuer"]), int(str(row["n"]))) for row in by_kind["issuer"]]
    total = sum(int(str(row["n"])) for row in by_kind["total"])
    return EntryPage(tuple(rows), total, tuple(types), tuple(sorted(issuers, key=_order)), datetime.now(UTC))


def load_growth(lab: Lab, _state: LogState) -> tuple[GrowthDay, ...]:
    """Load the last days on which the log grew, oldest first."""
    rows = lab.sql(f"{GROWTH} LIMIT {GROWTH_POINTS}")
    days = [GrowthDay(read_utc(row["day"]), int(str(row["n"])), int(str(row["entries"]))) for row in rows]
    return tuple(sorted(days, key=lambda each: each.day))


def select_entries(lab: Lab, state: LogState) -> Rows:
    """Select all filtered entries, for an export."""
    return lab.sql(EXPORTED, filter_parameters(state))


def select_growth(lab: Lab, _state: LogState) -> Rows:
    """Select all days of the growth, for an export."""
    return lab.sql(GROWTH)


def filter_parameters(state: LogState) -> dict[str, object]:
    """Return the parameters of the filters."""
    return {"type": state.type, "issuer": state.issuer}


def _order(issuer: tuple[str, str, int]) -> tuple[int, str]:
    return -issuer[2], issuer[1]


def _read_row(row: dict[str, object]) -> EntryRow:
    texts = {
        name: None if row[name] is None else str(row[name]) for name in ("issuer_id", "issuer", "attestation_id", "kid")
    }
    return EntryRow(
        index=int(str(row["log_index"])),
        at=read_utc(row["logged_at"]),
        type=str(row["type"]),
        leaf_hash=str(row["leaf_hash"]),
        **texts,
    )


def read_utc(value: object) -> datetime:
    """Read a time of the lake, which is UTC with or without a time zone."""
    assert isinstance(value, datetime), "the lake gives times as timestamps"
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
