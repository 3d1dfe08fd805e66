"""The people of a world with their devices, and the networks from which they and attackers log in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from random import Random

from attestlab.demos.risk_world.parameters import HOME_COUNTRIES, OTHER_COUNTRIES, WorldParameters
from attestlab.risk.logins.places import IpLocation

_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
_MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"
COMPUTERS = (
    (0.45, f"{_WINDOWS} Chrome/141.0.0.0 Safari/537.36"),
    (0.18, f"{_WINDOWS} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"),
    (0.15, f"{_MAC} Chrome/141.0.0.0 Safari/537.36"),
    (0.10, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.1 Safari/605.1.15"),
    (0.08, "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0"),
    (0.04, "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"),
)
PHONES = (
    (0.50, "Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 Chrome/141.0.0.0 Mobile Safari/537.36"),
    (0.40, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Safari/604.1"),
    (0.10, "Mozilla/5.0 (Linux; Android 15; SM-S921B) AppleWebKit/537.36 SamsungBrowser/27.0 Mobile Safari/537.36"),
)


@dataclass(frozen=True, slots=True)
class Network:
    """A provider with a range of 65,536 addresses in one country."""

    name: str
    country: str
    prefix: str  # the first two numbers of its addresses

    def draw_address(self, random: Random, addresses: int = 65_000) -> str:
        """Draw one of the provider's first `addresses` addresses."""
        number = random.randrange(addresses)
        return f"{self.prefix}.{number >> 8}.{number & 255}"


@dataclass(frozen=True, slots=True)
class Device:
    """A browser of one machine: the id that the client stores, and its user agent."""

    device_id: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class Office:
    """Many users behind one address."""

    network: Network
    address: str
    size: int


@dataclass(slots=True)
class Resident:
    """A person's places, machines and habits; trips and a new phone change it while the world runs."""

    subject_id: str
    country: str
    home: Network
    carrier: Network
    computer: Device
    phone: Device | None
    office: Office | None
    shared_computer: Device | None
    logins_a_day: float
    first_day: int
    vpn_exits: tuple[Network, ...]
    is_private: bool
    hour: float  # local hour around which this person logs in
    trip_until: int = -1
    trip_network: Network | None = None
    trip_address: str = ""


class Networks:
    """All providers of a world; no two share a prefix."""

    def __init__(self, parameters: WorldParameters) -> None:
        prefixes = iter([f"{a}.{b}" for a in range(20, 100) for b in range(0, 250, 7)])
        per_country = parameters.networks_a_country

        def make(label: str, country: str, count: int) -> tuple[Network, ...]:
            return tuple(Network(f"{label} {country} {n}", country, next(prefixes)) for n in range(count))

        countries = (*HOME_COUNTRIES, *OTHER_COUNTRIES)
        self.access = {country: make("Access", country, per_country) for country in countries}
        self.carriers = {country: make("Mobile", country, 2) for country in countries}
        self.hotels = {country: make("Hotels", country, 1) for country in countries}
        self.vpns = tuple(network for country in countries for network in make("Tunnel", country, 2))
        self.hosting = tuple(network for country in countries[::2] for network in make("Hosting", country, 1))

    @cached_property
    def _by_prefix(self) -> dict[str, Network]:
        groups = (*self.access.values(), *self.carriers.values(), *self.hotels.values(), self.vpns, self.hosting)
        return {network.prefix: network for group in groups for network in group}

    def locate(self, ip: str) -> IpLocation:
        """Return the place of a world's address, as a table of networks would."""
        network = self._by_prefix[ip.rsplit(".", 2)[0]]
        return IpLocation(network.name, network.country)


def draw_weighted(random: Random, choices: tuple[tuple[float, str], ...]) -> str:
    """Draw one of (weight, value) pairs."""
    return random.choices([value for _weight, value in choices], [weight for weight, _value in choices])[0]


def make_users(parameters: WorldParameters, networks: Networks) -> list[Resident]:
    """Make the people of a world."""
    random = Random(f"{parameters.seed}:people")
    offices = _make_offices(parameters, networks, random)
    return [_make_user(number, parameters, networks, offices, random) for number in range(parameters.users)]


def _make_offices(parameters: WorldParameters, networks: Networks, random: Random) -> dict[str, list[Office]]:
    offices: dict[str, list[Office]] = {country: [] for country in HOME_COUNTRIES}
    for country, share in HOME_COUNTRIES.items():
        places = math.ceil(parameters.users * share * parameters.office_share)
        while places > 0:
            size = min(places, round(_draw_log_uniform(random, *parameters.office_sizes)))
            network = random.choice(networks.access[country])
            offices[country].append(Office(network, network.draw_address(random), size))
            places -= size
    return offices


def _draw_log_uniform(random: Random, low: float, high: float) -> float:
    return math.exp(random.uniform(math.log(low), math.log(high)))


def _make_user(
    number: int,
    parameters: WorldParameters,
    networks: Networks,
    offices: dict[str, list[Office]],
    random: Random,
) -> Resident:
    country = draw_weighted(random, tuple((share, code) for code, share in HOME_COUNTRIES.items()))
    is_at_office = random.random() < parameters.office_share
    office = random.choices(offices[country], [each.size for each in offices[country]])[0] if is_at_office else None
    has_phone = random.random() < parameters.second_device_share
    uses_vpn, is_new = random.random() < parameters.vpn_share, random.random() < parameters.joining_share
    uses_shared = office is not None and random.random() < parameters.shared_computer_share / parameters.office_share
    return Resident(
        subject_id=f"user-{number:05d}",
        country=country,
        home=random.choice(networks.access[country]),
        carrier=random.choice(networks.carriers[country]),
        computer=Device(f"pc-{number}", draw_weighted(random, COMPUTERS)),
        phone=Device(f"phone-{number}-0", draw_weighted(random, PHONES)) if has_phone else None,
        office=office,
        shared_computer=Device(f"shared-{office.address}", COMPUTERS[0][1]) if office and uses_shared else None,
        logins_a_day=parameters.logins_a_day
        * random.lognormvariate(-(parameters.logins_spread**2) / 2, parameters.logins_spread),
        first_day=random.randrange(parameters.days) if is_new else 0,
        vpn_exits=tuple(random.sample(networks.vpns, random.randint(1, 3))) if uses_vpn else (),
        is_private=random.random() < parameters.private_share,
        hour=random.gauss(11.5, 2.5),
    )
