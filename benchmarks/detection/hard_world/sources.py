"""Where and with what someone logs in, and the login that comes from there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from attestlab.demos.risk_world.parameters import HOME_COUNTRIES
from attestlab.demos.risk_world.population import COMPUTERS, PHONES, Network, Networks, draw_weighted
from attestlab.risk.logins.login import Login, LoginOutcome
from benchmarks.detection.hard_world.parameters import HardParameters
from benchmarks.detection.hard_world.records import HardKind, HardLogin

SUCCESS, FAILURE = LoginOutcome.SUCCESS, LoginOutcome.FAILURE


@dataclass(frozen=True, slots=True)
class Source:
    """An address of a network, with a device and its program."""

    network: Network
    address: str
    device: str | None
    client: str

    def make(
        self, subject_id: str, at: datetime, outcome: LoginOutcome, kind: HardKind, campaign_id: str | None = None
    ) -> HardLogin:
        """Make one login from here."""
        login = Login(subject_id, outcome, at, self.address, self.device, self.network.country, self.client)
        return HardLogin(login, kind, campaign_id)


class Drawing:
    """One seeded stream of chance, with what several kinds of people and attackers draw."""

    def __init__(self, parameters: HardParameters, networks: Networks, label: str) -> None:
        self.parameters = parameters
        self.networks = networks
        self.random = Random(f"{parameters.seed}:hard:{label}")

    def country(self) -> str:
        """Draw a country as the residents have them."""
        return draw_weighted(self.random, tuple((share, code) for code, share in HOME_COUNTRIES.items()))

    def client(self) -> str:
        """Draw the user agent of a computer or phone."""
        return draw_weighted(self.random, self.random.choice((COMPUTERS, PHONES)))

    def device(self) -> str:
        """Draw a device id that is new."""
        return f"device-{self.random.getrandbits(64):016x}"

    def source(self, country: str, *, client: str | None = None) -> Source:
        """Draw a home address in a country, with a new device."""
        network = self.random.choice(self.networks.access[country])
        return Source(network, network.draw_address(self.random), self.device(), client or self.client())

    def moment(self, day: float) -> datetime:
        """Draw a moment of the waking hours of a day."""
        hours = self.random.uniform(7, 23)
        return self.parameters.world.first_day + timedelta(days=int(day), hours=hours)

    def any_moment(self, *, days: float = 0.0) -> datetime:
        """Draw a moment that leaves `days` before the end, from the first hour on."""
        day = self.random.uniform(0, max(1.0, self.parameters.days - days))
        return self.parameters.world.first_day + timedelta(days=day)

    def happens(self, share: float) -> bool:
        """Draw whether something of this probability happens."""
        return self.random.random() < share
