"""The hard world itself: the logins of `risk_world`, merged with those of harder people and attackers."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from attestlab.demos.risk_world.population import Resident, make_users
from attestlab.demos.risk_world.records import LabelledLogin
from attestlab.demos.risk_world.world import RiskWorld
from attestlab.risk.logins.places import IpLocation
from benchmarks.detection.hard_world.attacks import CAMPAIGNS
from benchmarks.detection.hard_world.parameters import HardParameters
from benchmarks.detection.hard_world.people import PEOPLE
from benchmarks.detection.hard_world.records import HardLogin
from benchmarks.detection.hard_world.sources import Drawing


class HardWorld:
    """One tenant's logins over some days; a locator too, as `RiskWorld`."""

    def __init__(self, parameters: HardParameters) -> None:
        self.parameters = parameters
        self._world = RiskWorld(parameters.world)

    def locate(self, ip: str) -> IpLocation:
        """Return the place of an address of this world."""
        return self._world.locate(ip)

    def logins(self) -> Iterator[LabelledLogin | HardLogin]:
        """Yield the logins of everyone, sorted by time."""
        users = make_users(self.parameters.world, self._world.networks)
        added = sorted([*self._draw_people(users), *self._draw_attacks(users)], key=lambda each: each.login.occurred_at)
        streams: list[Iterable[LabelledLogin | HardLogin]] = [self._world.logins(), added]
        yield from heapq.merge(*streams, key=lambda each: each.login.occurred_at)

    def _draw_people(self, users: list[Resident]) -> Iterator[HardLogin]:
        for draw in PEOPLE:
            yield from draw(Drawing(self.parameters, self._world.networks, draw.__name__), users)

    def _draw_attacks(self, users: list[Resident]) -> Iterator[HardLogin]:
        for kind, count_name, draw in CAMPAIGNS:
            for number in range(getattr(self.parameters, count_name)):
                campaign = f"{kind}-{self.parameters.seed}-{number}"
                yield from draw(Drawing(self.parameters, self._world.networks, campaign), users, campaign)
