"""The logins of innocent people, day by day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from attestlab.demos.risk_world.parameters import HOME_COUNTRIES, OTHER_COUNTRIES, UTC_OFFSETS, WorldParameters
from attestlab.demos.risk_world.population import PHONES, Device, Network, Networks, Resident, draw_weighted
from attestlab.demos.risk_world.records import Kind, LabelledLogin
from attestlab.risk.logins.login import Login, LoginOutcome

_WORKING_DAYS = 5
_CROWDED_OFFICE = 20  # users behind one address, from where a login counts as OFFICE_NAT


@dataclass(frozen=True, slots=True)
class Situation:
    """Where and with what a person logs in, and the kind of login that this is."""

    device: Device
    network: Network
    address: str
    kind: Kind
    has_device_id: bool = True


class Habits:
    """Draws the logins of one user on one day; equal seeds draw equal days."""

    def __init__(self, parameters: WorldParameters, networks: Networks) -> None:
        self._parameters = parameters
        self._networks = networks

    def draw_day(self, user: Resident, day: int) -> Iterator[LabelledLogin]:
        """Yield the user's logins of a day, in no order; the last of them may be in the next days."""
        if day < user.first_day:
            return
        random = Random(f"{self._parameters.seed}:{user.subject_id}:{day}")
        self._travel(user, day, random)
        if random.random() < self._parameters.new_phone_a_day and user.phone:
            user.phone = Device(f"{user.phone.device_id.rsplit('-', 1)[0]}-{day}", draw_weighted(random, PHONES))
            yield from self._log_in_on_new_phone(user, day, random)
        if random.random() < self._parameters.forgotten_a_day:
            yield from self._forget_password(user, day, random)
        is_weekend = day % 7 >= _WORKING_DAYS
        rate = user.logins_a_day * (self._parameters.weekend_share if is_weekend else 1.0)
        for _ in range(_draw_count(random, rate) or int(day == user.first_day > 0)):
            yield from self._log_in(user, self._draw_time(user, day, random), random, day=day)

    def draw_campaign_login(self, user: Resident, at: datetime, *, day: int) -> Iterator[LabelledLogin]:
        """Yield the login that a mail to all users brings."""
        random = Random(f"{self._parameters.seed}:{user.subject_id}:mail:{day}")
        for made in self._log_in(user, at, random, day=day):
            yield replace(made, kind=Kind.MAIL_CAMPAIGN)

    def _travel(self, user: Resident, day: int, random: Random) -> None:
        if day > user.trip_until and random.random() < self._parameters.trip_a_day:
            country = random.choice([c for c in (*HOME_COUNTRIES, *OTHER_COUNTRIES) if c != user.country])
            user.trip_until = day + random.randint(*self._parameters.trip_days)
            user.trip_network = self._networks.hotels[country][0]
            user.trip_address = user.trip_network.draw_address(random, 2000)

    def _draw_time(self, user: Resident, day: int, random: Random) -> datetime:
        hour = random.gauss(user.hour, 2.0) if random.random() < 0.75 else random.uniform(7, 23)
        hours = hour - UTC_OFFSETS[user.country]
        return self._parameters.first_day + timedelta(days=day, hours=hours, milliseconds=random.randrange(3_600_000))

    def _situation(self, user: Resident, day: int, random: Random) -> Situation:
        on_phone = user.phone is not None and random.random() < 0.4
        device = user.phone if on_phone and user.phone else user.computer
        if day <= user.trip_until and user.trip_network:
            return Situation(device, user.trip_network, user.trip_address, Kind.TRAVELLER)
        if user.vpn_exits and random.random() < self._parameters.vpn_login_share:
            network = random.choice(user.vpn_exits)
            return Situation(device, network, network.draw_address(random, 12), Kind.VPN)
        if on_phone and random.random() < self._parameters.mobile_share / 0.4:
            address = user.carrier.draw_address(random, self._parameters.carrier_addresses)
            return Situation(device, user.carrier, address, Kind.CARRIER_NAT)
        if user.office and day % 7 < _WORKING_DAYS and random.random() < 0.5:
            return self._at_office(user, device, random)
        return Situation(device, user.home, self._home_address(user, day), Kind.ORDINARY)

    def _at_office(self, user: Resident, device: Device, random: Random) -> Situation:
        assert user.office
        if user.shared_computer and random.random() < 0.7:
            return Situation(user.shared_computer, user.office.network, user.office.address, Kind.SHARED_COMPUTER)
        kind = Kind.OFFICE_NAT if user.office.size >= _CROWDED_OFFICE else Kind.ORDINARY
        return Situation(device, user.office.network, user.office.address, kind)

    def _home_address(self, user: Resident, day: int) -> str:
        """Draw the dynamic address of the period in which the day falls; periods of users start at different days."""
        shift = Random(user.subject_id).random()
        period = int(day / self._parameters.home_address_days + shift)
        return user.home.draw_address(Random(f"{self._parameters.seed}:{user.subject_id}:home:{period}"))

    def _hide_device(self, user: Resident, situation: Situation, random: Random) -> Situation:
        if not user.is_private or random.random() >= self._parameters.private_login_share:
            return situation
        kind = Kind.PRIVATE_MODE if situation.kind is Kind.ORDINARY else situation.kind
        return replace(situation, has_device_id=False, kind=kind)

    def _log_in(self, user: Resident, at: datetime, random: Random, *, day: int) -> Iterator[LabelledLogin]:
        situation = self._hide_device(user, self._situation(user, day, random), random)
        if random.random() < self._parameters.typo_share:
            kind = Kind.TYPO if situation.kind is Kind.ORDINARY else situation.kind
            situation = replace(situation, kind=kind)
            for _ in range(1 + (random.random() < self._parameters.second_typo_share)):
                yield self._make(user, situation, at, LoginOutcome.FAILURE, random)
                at += timedelta(seconds=random.uniform(4, 40))
        yield self._make(user, situation, at, LoginOutcome.SUCCESS, random)

    def _log_in_on_new_phone(self, user: Resident, day: int, random: Random) -> Iterator[LabelledLogin]:
        situation = replace(self._situation(user, day, random), kind=Kind.NEW_PHONE)
        assert user.phone
        situation, at = replace(situation, device=user.phone), self._draw_time(user, day, random)
        while random.random() < self._parameters.new_phone_typo_share:
            yield self._make(user, situation, at, LoginOutcome.FAILURE, random)
            at += timedelta(seconds=random.uniform(8, 60))
        yield self._make(user, situation, at, LoginOutcome.SUCCESS, random)

    def _forget_password(self, user: Resident, day: int, random: Random) -> Iterator[LabelledLogin]:
        situation = self._hide_device(user, self._situation(user, day, random), random)
        situation, at = replace(situation, kind=Kind.FORGOTTEN_PASSWORD), self._draw_time(user, day, random)
        for _ in range(random.randint(3, 9)):
            yield self._make(user, situation, at, LoginOutcome.FAILURE, random)
            at += timedelta(seconds=random.uniform(5, 90))
        at += timedelta(minutes=random.uniform(3, 40))
        yield self._make(user, situation, at, LoginOutcome.SUCCESS, random)
        if user.phone and random.random() < self._parameters.stale_retry_share:
            yield from self._retry_stale_password(user, day, at, random)

    def _retry_stale_password(self, user: Resident, day: int, at: datetime, random: Random) -> Iterator[LabelledLogin]:
        """The phone still has the old password, and tries it at an interval from the networks where it is."""
        interval_s = 60 * random.uniform(*self._parameters.stale_retry_minutes)
        until = at + timedelta(hours=random.uniform(*self._parameters.stale_hours))
        assert user.phone
        while (at := at + timedelta(seconds=interval_s * random.uniform(0.95, 1.05))) < until:
            situation = Situation(user.phone, user.home, self._home_address(user, day), Kind.STALE_PASSWORD)
            if random.random() < self._parameters.mobile_share:
                address = user.carrier.draw_address(random, self._parameters.carrier_addresses)
                situation = replace(situation, network=user.carrier, address=address)
            yield self._make(user, situation, at, LoginOutcome.FAILURE, random)

    def _make(
        self, user: Resident, situation: Situation, at: datetime, outcome: LoginOutcome, random: Random
    ) -> LabelledLogin:
        knows_country = random.random() >= self._parameters.missing_country_share
        login = Login(
            subject_id=user.subject_id,
            outcome=outcome,
            occurred_at=at,
            ip=situation.address,
            device_id=situation.device.device_id if situation.has_device_id else None,
            country=situation.network.country if knows_country else None,
            user_agent=situation.device.user_agent,
        )
        return LabelledLogin(login, situation.kind)


def _draw_count(random: Random, mean: float) -> int:
    """Draw from a Poisson distribution, by exponential waiting times."""
    count, waited = 0, random.expovariate(1.0)
    while waited < mean:
        count, waited = count + 1, waited + random.expovariate(1.0)
    return count
