"""The world itself: people, networks and attackers, as one stream of labelled logins."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import timedelta
from random import Random

from attestlab.demos.risk_world.attacks import draw_campaigns
from attestlab.demos.risk_world.habits import Habits
from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.population import Networks, Resident, make_users
from attestlab.demos.risk_world.records import LabelledLogin, LabelledSignal
from attestlab.demos.risk_world.signals import draw_signals
from attestlab.risk.logins.places import IpLocation

_MAIL_HOURS = 1.0


class RiskWorld:
    """One tenant's logins over some days.

    It is a locator too: `locate` returns the network and country of each of its addresses.
    """

    def __init__(self, parameters: WorldParameters) -> None:
        self.parameters = parameters
        self.networks = Networks(parameters)

    def locate(self, ip: str) -> IpLocation:
        """Return the place of an address of this world."""
        return self.networks.locate(ip)

    def logins(self) -> Iterator[LabelledLogin]:
        """Yield the logins of everyone, sorted by time; about a day of them is in memory at once."""
        campaigns = draw_campaigns(self.parameters, self.networks, make_users(self.parameters, self.networks))
        yield from heapq.merge(self._innocent(), campaigns, key=lambda each: each.login.occurred_at)

    def signals(self) -> Iterator[LabelledSignal]:
        """Yield the signals of other sources than logins, sorted by time."""
        yield from draw_signals(self.parameters)

    def _innocent(self) -> Iterator[LabelledLogin]:
        """Yield the logins of each day once no earlier one can follow; habits reach half a day back, two days ahead."""
        users, habits = make_users(self.parameters, self.networks), Habits(self.parameters, self.networks)
        waiting: list[LabelledLogin] = []
        mail_days = self._draw_mail_days()
        for day in range(self.parameters.days):
            for user in users:
                waiting += habits.draw_day(user, day)
            if day in mail_days:
                waiting += self._draw_mail(users, habits, day)
            waiting.sort(key=lambda each: each.login.occurred_at)
            until = self.parameters.first_day + timedelta(days=day)
            count = next((n for n, each in enumerate(waiting) if each.login.occurred_at >= until), len(waiting))
            yield from waiting[:count]
            waiting = waiting[count:]
        yield from waiting

    def _draw_mail_days(self) -> set[int]:
        random = Random(f"{self.parameters.seed}:mail days")
        working_days = [day for day in range(self.parameters.days) if day % 7 < 5]
        return set(random.sample(working_days, min(self.parameters.mail_campaigns, len(working_days))))

    def _draw_mail(self, users: list[Resident], habits: Habits, day: int) -> Iterator[LabelledLogin]:
        random = Random(f"{self.parameters.seed}:mail:{day}")
        sent = self.parameters.first_day + timedelta(days=day, hours=random.uniform(8, 16))
        readers = [user for user in users if user.first_day <= day]
        for user in random.sample(readers, round(len(readers) * self.parameters.mail_campaign_share)):
            at = sent + timedelta(hours=_MAIL_HOURS * random.random() ** 2)
            yield from habits.draw_campaign_login(user, at, day=day)
