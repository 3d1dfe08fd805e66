"""The numbers of all chosen issuers together, and by tier and risk: one load for answer, tiles and origins."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards.issuers.panes.requests import OpenRequests, load_open_requests
from attestlab_dashboards.issuers.standing import compose
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import LakeQuery

BY_STANDING: Final = ("status", "tier", "risk", "jurisdiction", "changed", "age_limit")
TOP: Final = 3  # the issuers that the note about concentration counts
_SELECT: Final = f"""SELECT grouping(trust_tier) = 1 AS is_total, trust_tier, risk_rating, count(*) AS issuers,
  count(*) FILTER (status = 'ACTIVE') AS active, count(*) FILTER (status = 'SUSPENDED') AS suspended,
  count(*) FILTER (status = 'REVOKED') AS revoked, count(*) FILTER (worse > 0) AS worse_issuers,
  count(*) FILTER (risk_step > 0) AS riskier, sum(worse)::BIGINT AS worse,
  sum(attestations)::BIGINT AS attestations, sum(mints)::BIGINT AS mints,
  list_sum(max(mints, {TOP}))::BIGINT AS top_mints, sum(mints * mints)::DOUBLE AS squared_mints,
  sum(keys)::BIGINT AS keys, sum(old_keys)::BIGINT AS old_keys, min(oldest) FILTER (keys > 0) AS oldest_key,
  list_slice(list(name ORDER BY mints DESC, name) FILTER (mints > 0), 1, {TOP}) AS names
FROM chosen GROUP BY GROUPING SETS ((), (trust_tier, risk_rating)) ORDER BY is_total DESC, trust_tier, risk_rating"""


class StandingCounts(NamedTuple):
    """Counts of issuers that have a tier and a rating, or of all chosen ones.

    `worse` counts attestations whose issuer stood better when it minted them; `names` are of those who mint the most.
    """

    trust_tier: str
    risk_rating: str
    issuers: int
    active: int
    suspended: int
    revoked: int
    worse_issuers: int
    riskier: int
    worse: int
    attestations: int
    mints: int
    top_mints: int
    squared_mints: float
    keys: int
    old_keys: int
    oldest_key: datetime | None
    names: tuple[str, ...]


class IssuerOverview(NamedTuple):
    """The counts of all chosen issuers, and those of each tier and rating that occurs, as of `now`."""

    now: datetime
    total: StandingCounts
    cells: tuple[StandingCounts, ...]


def compose_overview(state: IssuerState) -> LakeQuery:
    """Compose the query."""
    return compose(state, _SELECT)


def load_overview(lab: Lab, state: IssuerState) -> IssuerOverview:
    """Load the counts."""
    total, cells = None, []
    for row in compose_overview(state).read_rows(lab):
        counts = _read_counts(row)
        if row["is_total"]:
            total = counts
        else:
            cells.append(counts)
    return IssuerOverview(lab.now(), total or _read_counts({}), tuple(cells))


def export_overview(lab: Lab, state: IssuerState) -> Rows:
    """Return the counts."""
    return compose_overview(state).read(lab)


def write_overview_sql(state: IssuerState) -> str:
    """Write the query."""
    return compose_overview(state).to_sql()


def _read_counts(row: dict[str, object]) -> StandingCounts:
    values = {name: row.get(name) or 0 for name in StandingCounts._fields}
    values |= {name: str(row.get(name) or "") for name in ("trust_tier", "risk_rating")}
    names = row.get("names")
    values |= {"oldest_key": row.get("oldest_key"), "names": tuple(names) if isinstance(names, list) else ()}
    return StandingCounts(**values)  # type: ignore[arg-type]  # the query has the fields' types


class IssuerSummary(NamedTuple):
    """What the answer, the tiles and the matrix show, so that one load serves them all."""

    overview: IssuerOverview
    requests: OpenRequests


def load_summary(lab: Lab, state: IssuerState) -> IssuerSummary:
    """Load the counts and the open requests."""
    return IssuerSummary(load_overview(lab, state), load_open_requests(lab, state))


def write_limit(days: int) -> str:
    """Write the age limit of keys."""
    return "a year" if days == 365 else f"{days} days"
