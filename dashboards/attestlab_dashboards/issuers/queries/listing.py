"""The rows of the issuers table, sorted and paged in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards.issuers.queries.instant import read_now, read_own_clock
from attestlab_dashboards.issuers.queries.standing import RISK_RANK, TIER_RANK, compose
from attestlab_dashboards.issuers.queries.viewer import Viewer, read_viewer
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.widgets import PAGE_ROWS

_COLUMNS: Final = """id, name, domain, status, trust_tier, risk_rating, jurisdiction, keys, old_keys, attestations,
  mints, last_mint, tier_then, risk_then, worse"""
_ORDERS: Final[Mapping[str, str]] = {
    "name": "lower(name)",
    "status": "list_position(['ACTIVE', 'SUSPENDED', 'REVOKED'], status)",
    "tier": TIER_RANK,
    "risk": RISK_RANK,
    "jurisdiction": "jurisdiction",
    "keys": "keys",
    "mints": "mints",
    "change": "worse",
    "last": "last_mint",
}


class IssuerRow(NamedTuple):
    """An issuer as the table shows it; `tier_then` and `risk_then` are those of its first mint, None without one."""

    id: str
    name: str
    domain: str
    status: str
    trust_tier: str
    risk_rating: str
    jurisdiction: str | None
    keys: int
    old_keys: int
    attestations: int
    mints: int
    last_mint: datetime | None
    tier_then: str | None
    risk_then: str | None
    worse: int


class IssuerPage(NamedTuple):
    """A page of the table: its rows, the number of all chosen issuers, and the most mints that one of them has."""

    now: datetime
    viewer: Viewer
    rows: tuple[IssuerRow, ...]
    issuers: int
    most_mints: int
    page: int


def compose_listing(state: IssuerState, now: datetime, *, page: int | None = None) -> LakeQuery:
    """Compose the query of one page, or of all rows; a page behind the last one is the last one."""
    name, is_down = state.sort.removeprefix("-"), state.sort.startswith("-")
    order = f"{_ORDERS[name]} {'DESC' if is_down else 'ASC'} NULLS LAST, lower(name), id"
    select = f"SELECT {_COLUMNS} FROM chosen ORDER BY {order}"
    if page is None:
        return compose(state, now, select)
    paged = f"""SELECT {_COLUMNS}, count(*) OVER () AS issuers, max(mints) OVER () AS most_mints,
  row_number() OVER (ORDER BY {order}) AS place FROM chosen
QUALIFY (place - 1) // {PAGE_ROWS} = least($page, (issuers - 1) // {PAGE_ROWS}) ORDER BY place"""
    return compose(state, now, paged, page=page - 1)


def load_listing(lab: Lab, state: IssuerState) -> IssuerPage:
    """Load a page of the table."""
    now = read_now(lab)
    rows = compose_listing(state, now, page=state.page).read_rows(lab)
    issuers, most = (int(str(rows[0][name])) for name in ("issuers", "most_mints")) if rows else (0, 0)
    page = (int(str(rows[0]["place"])) - 1) // PAGE_ROWS + 1 if rows else 1
    return IssuerPage(now, read_viewer(lab), tuple(map(_read_row, rows)), issuers, most, page)


def export_listing(lab: Lab, state: IssuerState) -> Rows:
    """Return all chosen issuers, in the order of the table."""
    return compose_listing(state, read_now(lab)).read(lab)


def write_listing_sql(state: IssuerState) -> str:
    """Write the query of all chosen issuers."""
    return compose_listing(state, read_own_clock()).to_sql()


def _read_row(row: dict[str, object]) -> IssuerRow:
    return IssuerRow(**{name: row[name] for name in IssuerRow._fields})  # type: ignore[arg-type]  # the query's types
