"""The numbers of all chosen agents together: one load for the answer and the tiles."""

from __future__ import annotations

from typing import Final, NamedTuple

from attestlab import Lab
from attestlab_dashboards.agents.fleet import compose
from attestlab_dashboards.agents.state import AgentsState

_SELECT: Final = """SELECT count(*) AS agents, count(*) FILTER (status = 'active') AS active,
  count(*) FILTER (status = 'suspended') AS suspended, count(*) FILTER (status = 'revoked') AS revoked,
  count(DISTINCT root) AS trees, count(*) FILTER (status <> 'revoked' AND ownerless) AS ownerless,
  count(*) FILTER (status <> 'revoked' AND wildcard) AS wildcard,
  count(*) FILTER (status <> 'revoked' AND no_expiry) AS no_expiry,
  count(*) FILTER (status <> 'revoked' AND old_key) AS old_key,
  count(*) FILTER (status <> 'revoked' AND idle) AS idle,
  count(*) FILTER (status <> 'revoked' AND expiring) AS expiring,
  coalesce(sum(open), 0)::BIGINT AS sessions, count(*) FILTER (open > 0) AS working FROM chosen"""


class FleetCounts(NamedTuple):
    """Counts of the chosen agents; from `ownerless` to `expiring` of those that are not revoked.

    `sessions` are the open ones, and `working` the agents that have one.
    """

    agents: int
    active: int
    suspended: int
    revoked: int
    trees: int
    ownerless: int
    wildcard: int
    no_expiry: int
    old_key: int
    idle: int
    expiring: int
    sessions: int
    working: int

    @property
    def standing(self) -> int:
        """The agents that are not revoked."""
        return self.agents - self.revoked


def load_overview(lab: Lab, state: AgentsState) -> FleetCounts:
    """Load the counts."""
    (row,) = compose(state, _SELECT).read_rows(lab)
    return FleetCounts(**{name: int(str(row[name])) for name in FleetCounts._fields})
