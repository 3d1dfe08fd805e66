"""The keys of a year, in one lane for each issuer: the issuers with the oldest key in use come first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.core.encoding import format_time
from attestlab_dashboards.issuers.queries.instant import read_now, read_own_clock
from attestlab_dashboards.issuers.queries.standing import compose
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import LakeQuery

LANES: Final = 12  # a page
SHOWN_DAYS: Final = 365
_LANES: Final = """signed AS (SELECT issuer_id, kid, count(*) AS attestations FROM attestations GROUP BY ALL),
lanes AS (
  SELECT c.id AS issuer_id, c.name, k.kid, k.alg, k.status, k.began, k.lost, k.withdrawn,
    coalesce(k.rotated, k.withdrawn) AS ended, coalesce(s.attestations, 0)::BIGINT AS attestations,
    min(k.began) FILTER (k.status = 'active') OVER lane AS oldest
  FROM keys k JOIN chosen c ON c.id = k.issuer_id LEFT JOIN signed s ON s.issuer_id = k.issuer_id AND s.kid = k.kid
  WHERE k.began IS NOT NULL
    AND coalesce(k.rotated, k.withdrawn, k.began) >= CASE WHEN k.status = 'active' THEN k.began
      ELSE CAST($shown AS TIMESTAMPTZ) END
  WINDOW lane AS (PARTITION BY c.id)),
placed AS (
  SELECT *, dense_rank() OVER (ORDER BY oldest NULLS LAST, lower(name), issuer_id) - 1 AS lane FROM lanes),
counted AS (SELECT *, max(lane) OVER () + 1 AS all_lanes FROM placed)"""
_ORDER: Final = "ORDER BY lane, began, kid"


class KeySpan(NamedTuple):
    """A key: in use from `began` until `ended`, None while it is; `lost` is when others may have begun to sign."""

    issuer_id: str
    name: str
    kid: str
    alg: str
    status: str
    began: datetime
    ended: datetime | None
    withdrawn: datetime | None
    lost: datetime | None
    attestations: int

    @property
    def in_use(self) -> bool:
        """Whether it signs."""
        return self.status == "active"

    def age_days(self, now: datetime) -> int:
        """Return how many days it has been in use, or was."""
        return ((self.ended or now) - self.began).days


class KeyLanes(NamedTuple):
    """A page of lanes: the keys by issuer, and the number of all lanes."""

    now: datetime
    lanes: tuple[tuple[KeySpan, ...], ...]
    all_lanes: int
    page: int


def compose_lanes(state: IssuerState, now: datetime, *, page: int | None = None) -> LakeQuery:
    """Compose the query of the keys of one page of lanes, or of all keys."""
    shown = format_time(now - timedelta(days=SHOWN_DAYS))
    if page is None:
        columns = "name, kid, alg, status, began, ended, lost, attestations"
        return compose(state, now, f", {_LANES}\nSELECT {columns} FROM counted {_ORDER}", shown=shown)
    paged = f"SELECT * FROM counted WHERE lane // {LANES} = least($page, (all_lanes - 1) // {LANES}) {_ORDER}"
    return compose(state, now, f", {_LANES}\n{paged}", shown=shown, page=page - 1)


def load_lanes(lab: Lab, state: IssuerState) -> KeyLanes:
    """Load a page of lanes."""
    now = read_now(lab)
    rows = compose_lanes(state, now, page=state.keys_page).read_rows(lab)
    lanes: dict[str, list[KeySpan]] = {}
    for row in rows:
        lanes.setdefault(str(row["issuer_id"]), []).append(_read_span(row))
    all_lanes, first = (int(str(rows[0][name])) for name in ("all_lanes", "lane")) if rows else (0, 0)
    return KeyLanes(now, tuple(map(tuple, lanes.values())), all_lanes, first // LANES + 1)


def export_lanes(lab: Lab, state: IssuerState) -> Rows:
    """Return all keys."""
    return compose_lanes(state, read_now(lab)).read(lab)


def write_lanes_sql(state: IssuerState) -> str:
    """Write the query."""
    return compose_lanes(state, read_own_clock()).to_sql()


def _read_span(row: dict[str, object]) -> KeySpan:
    return KeySpan(**{name: row[name] for name in KeySpan._fields})  # type: ignore[arg-type]  # the query's types
