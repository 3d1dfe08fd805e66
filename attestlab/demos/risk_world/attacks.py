"""The attackers: each campaign is a list of logins with one goal."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from random import Random

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.population import COMPUTERS, PHONES, Network, Networks, Resident, draw_weighted
from attestlab.demos.risk_world.records import Kind, LabelledLogin
from attestlab.risk.logins.login import Login, LoginOutcome

_PROGRAMS = ("python-requests/2.32.3", "Go-http-client/2.0", COMPUTERS[0][1], COMPUTERS[4][1])
_ADDRESSES_OF_A_RENTER = 8


class Attacker:
    """Draws one campaign; its tries are independent of what the innocent do."""

    def __init__(self, campaign_id: str, kind: Kind, parameters: WorldParameters, networks: Networks) -> None:
        self.campaign_id = campaign_id
        self.kind = kind
        self._parameters = parameters
        self._networks = networks
        self._random = Random(f"{parameters.seed}:{campaign_id}")
        self._is_domestic = self._random.random() < parameters.domestic_share
        self._devices = 0

    def draw_start(self, *, days: float = 0.0) -> datetime:
        """Draw a moment after the quiet days that leaves `days` before the end of the span."""
        span, quiet = self._parameters.days, self._parameters.days * self._parameters.quiet_share
        day = self._random.uniform(quiet, max(quiet, span - days))
        return self._parameters.first_day + timedelta(days=day)

    def draw_victims(self, users: list[Resident], bounds: tuple[int, int], at: datetime) -> list[Resident]:
        """Draw users who exist at that time; `attack_scale` scales their number."""
        day = (at - self._parameters.first_day).days
        existing = [user for user in users if user.first_day <= day]
        wanted = max(1, round(self._random.randint(*bounds) * self._parameters.attack_scale))
        return self._random.sample(existing, min(wanted, len(existing)))

    def draw_network(self, country: str) -> Network:
        """Draw a residential provider of that country, or of any country, or a hosting provider."""
        if self._is_domestic:
            return self._random.choice(self._networks.access[country])
        if self._random.random() < 0.4:
            return self._random.choice(self._networks.hosting)
        return self._random.choice(self._networks.access[self._random.choice(sorted(self._networks.access))])

    def draw_client(self) -> str:
        """Draw the user agent of a real browser."""
        return draw_weighted(self._random, self._random.choice((COMPUTERS, PHONES)))

    def make_device(self) -> str:
        """Make a device id that was not seen before."""
        self._devices += 1
        return self._make_name("device", self._devices)

    def make_user(self, number: int) -> str:
        """Make the name of a user of the attacker's own: an account that it opened, or a leaked name without one."""
        return self._make_name("user", number)

    def _make_name(self, prefix: str, number: int) -> str:
        """Make a name that does not give the attack away."""
        digest = hashlib.sha256(f"{self.campaign_id}:{prefix}:{number}".encode()).hexdigest()
        return f"{prefix}-{digest[:8]}"

    def guess(self, success_share: float) -> LoginOutcome:
        """Draw whether a guess is right."""
        return LoginOutcome.SUCCESS if self._random.random() < success_share else LoginOutcome.FAILURE

    def make(
        self,
        subject_id: str,
        at: datetime,
        outcome: LoginOutcome,
        source: tuple[Network, str],
        device: str | None,
        client: str,
    ) -> LabelledLogin:
        """Make one login of the campaign."""
        network, address = source
        login = Login(subject_id, outcome, at, address, device, network.country, client)
        return LabelledLogin(login, self.kind, self.campaign_id)

    def stuff(self, users: list[Resident]) -> Iterator[LabelledLogin]:
        """Try leaked pairs of name and password from a botnet; most names do not exist here."""
        random, parameters = self._random, self._parameters
        at, minutes = self.draw_start(days=1), random.uniform(*parameters.stuffing_minutes)
        tries = max(10, round(random.randint(*parameters.stuffing_tries) * parameters.attack_scale))
        networks = [self.draw_network(random.choice(users).country) for _ in range(random.randint(5, 40))]
        sources = [
            (n, n.draw_address(random))
            for n in random.choices(networks, k=random.randint(*parameters.stuffing_addresses))
        ]
        clients, changes_device = random.sample(_PROGRAMS, 2), random.random() < 0.6
        device = self.make_device()
        for number in range(tries):
            is_known = random.random() < parameters.stuffing_known_share
            subject = random.choice(users).subject_id if is_known else self.make_user(number)
            outcome = self.guess(parameters.guess_success_share) if is_known else LoginOutcome.FAILURE
            own = self.make_device() if changes_device else device
            yield self.make(subject, at, outcome, random.choice(sources), own, random.choice(clients))
            at += timedelta(minutes=random.expovariate(tries / minutes))

    def spray(self, users: list[Resident]) -> Iterator[LabelledLogin]:
        """Try one password for many users from few addresses and one device."""
        random, parameters = self._random, self._parameters
        at, hours = self.draw_start(days=1), random.uniform(*parameters.spraying_hours)
        networks = [
            self.draw_network(random.choice(users).country)
            for _ in range(random.randint(*parameters.spraying_addresses))
        ]
        sources, client = [(network, network.draw_address(random)) for network in networks], self.draw_client()
        device = self.make_device() if random.random() < 0.6 else None
        victims = self.draw_victims(users, parameters.spraying_users, at)
        for victim in victims:
            outcome = self.guess(parameters.guess_success_share)
            yield self.make(victim.subject_id, at, outcome, random.choice(sources), device, client)
            at += timedelta(hours=random.expovariate(len(victims) / hours))

    def spray_carefully(self, users: list[Resident]) -> Iterator[LabelledLogin]:
        """Try one password for many users, with a new address, device and client for each."""
        random, parameters = self._random, self._parameters
        at, hours = self.draw_start(days=3), random.uniform(*parameters.careful_hours)
        victims = self.draw_victims(users, parameters.careful_users, at)
        has_device = random.random() < 0.7
        for victim in victims:
            network = self.draw_network(victim.country)
            source, device = (network, network.draw_address(random)), self.make_device() if has_device else None
            outcome = self.guess(parameters.guess_success_share)
            yield self.make(victim.subject_id, at, outcome, source, device, self.draw_client())
            at += timedelta(hours=random.expovariate(len(victims) / hours))

    def guess_slowly(self, users: list[Resident]) -> Iterator[LabelledLogin]:
        """Try passwords of one user every few hours for days, with a new address for each."""
        random, parameters = self._random, self._parameters
        at = self.draw_start(days=10)
        victim, client = self.draw_victims(users, (1, 1), at)[0], self.draw_client()
        device = self.make_device() if random.random() < 0.5 else None
        tries = random.randint(*parameters.slow_tries)
        for number in range(tries):
            network = self.draw_network(victim.country)
            outcome = self.guess(0.3) if number == tries - 1 else LoginOutcome.FAILURE
            yield self.make(victim.subject_id, at, outcome, (network, network.draw_address(random)), device, client)
            at += timedelta(hours=random.uniform(*parameters.slow_hours))

    def take_over(self, users: list[Resident]) -> Iterator[LabelledLogin]:
        """Log in with a phished password, a few times, from the attacker's own machine."""
        at = self.draw_start(days=4)
        victim = self.draw_victims(users, (1, 1), at)[0]
        yield from self._visit(victim, at, self.draw_network(victim.country))

    def log_in_from_afar(self, users: list[Resident]) -> Iterator[LabelledLogin]:
        """Log in with a phished password from another country, within hours of the user's own working day."""
        at = self.draw_start(days=4).replace(hour=0) + timedelta(hours=self._random.uniform(13, 22))
        victim = self.draw_victims(users, (1, 1), at)[0]
        abroad = [country for country in sorted(self._networks.access) if country != victim.country]
        yield from self._visit(victim, at, self._random.choice(self._networks.access[self._random.choice(abroad)]))

    def _visit(self, victim: Resident, at: datetime, network: Network) -> Iterator[LabelledLogin]:
        device, client, address = self.make_device(), self.draw_client(), network.draw_address(self._random)
        for _ in range(self._random.randint(*self._parameters.takeover_visits)):
            yield self.make(victim.subject_id, at, LoginOutcome.SUCCESS, (network, address), device, client)
            at += timedelta(hours=self._random.expovariate(1 / 10))

    def run_farm(self, _users: list[Resident]) -> Iterator[LabelledLogin]:
        """Use many accounts of the attacker's own on one machine, through rented addresses."""
        random, parameters = self._random, self._parameters
        days = random.randint(*parameters.farm_days)
        start, device, client = self.draw_start(days=days), self.make_device(), self.draw_client()
        exits = random.sample(
            (*self._networks.vpns, *self._networks.hosting), random.randint(*parameters.farm_networks)
        )
        accounts = max(6, round(random.randint(*parameters.farm_accounts) * parameters.attack_scale))
        for number in range(accounts):
            for _ in range(random.randint(1, 3)):
                network = random.choice(exits)
                source = network, network.draw_address(random, _ADDRESSES_OF_A_RENTER)
                at = start + timedelta(days=random.uniform(0, days))
                yield self.make(self.make_user(number), at, LoginOutcome.SUCCESS, source, device, client)


_DRAWS: tuple[tuple[Kind, str, Callable[[Attacker, list[Resident]], Iterator[LabelledLogin]]], ...] = (
    (Kind.STUFFING, "stuffing_campaigns", Attacker.stuff),
    (Kind.SPRAYING, "spraying_campaigns", Attacker.spray),
    (Kind.CAREFUL_SPRAYING, "careful_spraying_campaigns", Attacker.spray_carefully),
    (Kind.LOW_AND_SLOW, "low_and_slow_campaigns", Attacker.guess_slowly),
    (Kind.TAKEOVER, "takeover_campaigns", Attacker.take_over),
    (Kind.IMPOSSIBLE_TRAVEL, "travel_campaigns", Attacker.log_in_from_afar),
    (Kind.DEVICE_FARM, "farm_campaigns", Attacker.run_farm),
)


def draw_campaigns(parameters: WorldParameters, networks: Networks, users: list[Resident]) -> list[LabelledLogin]:
    """Draw the logins of all campaigns, sorted by time."""
    made: list[LabelledLogin] = []
    for kind, count_name, draw in _DRAWS:
        for number in range(getattr(parameters, count_name)):
            attacker = Attacker(f"{kind}-{parameters.seed}-{number}", kind, parameters, networks)
            made += draw(attacker, users)
    return sorted(made, key=lambda each: each.login.occurred_at)
