"""The loss of a key: what was logged before that moment stays valid, what was logged since does not verify."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.core.encoding import format_time
from attestlab_dashboards.issuers.queries.instant import read_now, read_own_clock
from attestlab_dashboards.issuers.queries.standing import compose
from attestlab_dashboards.issuers.queries.viewer import read_viewer
from attestlab_dashboards.issuers.state import IssuerState, KeyName
from attestlab_dashboards.lake_query import LakeQuery

SUPPOSED_DAYS: Final = 7  # ago: the moment of loss of a key that is in use, until the reader chooses another
# A report without the time of loss concerns what was logged after it (docs/verification.md, step 5).
_TARGET: Final = """signed AS (
  SELECT a.issuer_id, a.kid, a.id, l.logged_at,
    a.status = 'VALID' AND coalesce(a.expiry_at > CAST($as_of AS TIMESTAMPTZ), true) AS valid
  FROM attestations a JOIN log_entries l ON l.log_index = a.log_index),
counted AS (SELECT issuer_id, kid, count(*) AS attestations FROM signed GROUP BY ALL),
target AS (
  SELECT k.*, c.name, coalesce(n.attestations, 0) AS attestations,
    coalesce({since}k.lost, CASE WHEN k.status = 'compromised' THEN k.withdrawn END,
      CAST($supposed AS TIMESTAMPTZ)) AS moment
  FROM keys k JOIN {issuers} c ON c.id = k.issuer_id
  LEFT JOIN counted n ON n.issuer_id = k.issuer_id AND n.kid = k.kid
  WHERE k.began IS NOT NULL AND {which}
  ORDER BY k.status = 'compromised' DESC, k.status = 'active' DESC, attestations DESC, k.kid LIMIT 1),
affected AS (SELECT s.*, s.logged_at >= moment AS after
  FROM signed s JOIN target t ON t.issuer_id = s.issuer_id AND t.kid = s.kid),
looked AS (
  SELECT count(DISTINCT v.attestation_id) AS looked_at FROM verifications v JOIN affected f ON f.id = v.attestation_id
  CROSS JOIN target t WHERE f.after AND v.verified_at >= t.moment)"""
_COUNTS: Final = """SELECT target.*, looked_at, count(f.id) FILTER (NOT f.after AND f.valid) AS stay_valid,
  count(f.id) FILTER (f.after AND f.valid) AS turn_invalid, count(f.id) FILTER (NOT f.valid) AS ended_already
FROM target CROSS JOIN looked LEFT JOIN affected f ON true GROUP BY ALL"""
_AFTER: Final = "SELECT id, kid, logged_at, valid FROM affected WHERE after ORDER BY logged_at, id"


class KeyLoss(NamedTuple):
    """What the loss of a key at `moment` means for its attestations.

    `ended_already` were revoked, superseded or expired before; `looked_at` counts those that would become invalid
    and were verified since.
    """

    now: datetime
    issuer_id: str
    name: str
    kid: str
    status: str
    began: datetime
    ended: datetime | None
    moment: datetime
    attestations: int
    stay_valid: int
    turn_invalid: int
    ended_already: int
    looked_at: int
    may_report: bool

    @property
    def is_reported(self) -> bool:
        """Whether the key was reported as compromised, so that this is no supposition."""
        return self.status == "compromised"


def compose_loss(state: IssuerState, now: datetime, select: str = _COUNTS) -> LakeQuery:
    """Compose the query: of the key that was chosen, else of a lost one, else of the one that signed the most."""
    since = "CAST($since AS TIMESTAMPTZ), " if state.since else ""
    which = "k.issuer_id = $issuer_id AND k.kid = $kid" if state.key else "true"
    issuers = "standing" if state.key else "chosen"
    target = _TARGET.format(since=since, which=which, issuers=issuers)
    values = {"as_of": format_time(now), "supposed": format_time(now - timedelta(days=SUPPOSED_DAYS))}
    if state.key:
        values |= KeyName.parse(state.key)._asdict()
    if state.since:
        values["since"] = format_time(state.since)
    return compose(state, now, f", {target}\n{select}", **values)


def load_loss(lab: Lab, state: IssuerState) -> KeyLoss | None:
    """Load the counts; None if there is no such key."""
    now = read_now(lab)
    row = next(iter(compose_loss(state, now).read_rows(lab)), None)
    if row is None:
        return None
    row |= {"now": now, "ended": row["rotated"] or row["withdrawn"], "may_report": read_viewer(lab).may_change_keys}
    return KeyLoss(**{name: row[name] for name in KeyLoss._fields})  # type: ignore[arg-type]  # the query's types


def export_affected(lab: Lab, state: IssuerState) -> Rows:
    """Return the attestations that were logged since the loss."""
    return compose_loss(state, read_now(lab), _AFTER).read(lab)


def write_loss_sql(state: IssuerState) -> str:
    """Write the query of the attestations that were logged since the loss."""
    return compose_loss(state, read_own_clock(), _AFTER).to_sql()
