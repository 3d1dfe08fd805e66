"""Signals of an ordinary year: what the systems of a tenant report about innocent users, devices and addresses.

Most scores are low. Some are high without an attack, as in every real feed; their cases end as legitimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from attestlab.demos.history.login_signals import PARAMETERS
from attestlab.demos.risk_world.population import Networks, Resident, make_users
from attestlab.risk.rules import Entity, EntityType, sum_factors
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal
from attestlab.risk.velocity import SIGNAL_TYPE, SOURCE, name_counts, score_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAYS = 365
_HOURS_A_DAY = 24
_WEEKEND_SHARE = 0.45  # of a working day's volume
_GROWTH = 1.0  # the volume of the last day exceeds that of the first by this share
_BUSY_HOURS = (1, 1, 1, 1, 1, 2, 3, 5, 8, 10, 10, 9, 8, 9, 10, 10, 9, 8, 7, 6, 5, 4, 3, 2)  # relative volume by hour


class Feed(NamedTuple):
    """A system that reports: what it calls its signals, what they are about, and how its scores are spread.

    Its details name an entity of the kind `named` in `member`. Scores are gamma-distributed with this shape and
    scale, so that about one in a thousand reaches 80.
    """

    source: str
    signal_type: str
    entity_type: EntityType
    named: EntityType
    member: str
    share: float
    shape: float
    scale: float


_FEEDS = (
    Feed("gateway", "behavior", EntityType.IP, EntityType.USER, "user_id", 0.32, 2.0, 9.0),
    Feed("session", "geo_anomaly", EntityType.USER, EntityType.IP, "ip", 0.22, 1.8, 8.0),
    Feed("payments", "behavior", EntityType.USER, EntityType.DEVICE, "device_id", 0.18, 2.2, 8.5),
    Feed("device", "behavior", EntityType.DEVICE, EntityType.USER, "user_id", 0.17, 2.0, 8.5),
    Feed("session", "behavior", EntityType.SESSION, EntityType.USER, "user_id", 0.11, 2.0, 8.0),
)
# Counts by window, and how often they occur; each scores at least `SIGNAL_THRESHOLD`.
_BURSTS = (((4, 11, 18, 22), 0.5), ((4, 13, 25, 31), 0.35), ((5, 14, 30, 48), 0.1), ((7, 21, 65, 120), 0.05))


class Habit(NamedTuple):
    """What a user's signals name: the devices and the addresses that this user logs in with."""

    user: str
    devices: Sequence[str]
    addresses: Sequence[str]


def draw_everyday_signals(count: int, now: datetime, *, seed: int) -> Iterator[NewSignal]:
    """Yield `count` signals of the year before `now`, sorted by time."""
    import numpy as np

    random = np.random.default_rng(seed)
    sightings = [_Sightings(habit) for habit in draw_habits()]
    feeds = random.choice(len(_FEEDS), count, p=[feed.share for feed in _FEEDS])
    shapes, scales = np.array([(feed.shape, feed.scale) for feed in _FEEDS])[feeds].T
    columns = zip(
        _draw_times(random, count, now),
        feeds.tolist(),
        np.minimum(95.0, random.gamma(shapes, scales)).round(1).tolist(),
        _draw_users(random, count, len(sightings)),
        random.integers(0, 1 << 30, count).tolist(),
        strict=True,
    )
    for at, feed, score, user, draw in columns:
        yield sightings[user].make_signal(feed, at, score, draw)


def draw_bursts(count: int, now: datetime, *, seed: int) -> Iterator[NewSignal]:
    """Yield `count` signals of velocity: innocent users whose client tries again too quickly."""
    random, habits = Random(seed), draw_habits()
    for _ in range(count):
        counts = random.choices([counts for counts, _ in _BURSTS], [share for _, share in _BURSTS])[0]
        factors = score_counts(counts)
        details = encode_details({"action": "document.upload", "windows": name_counts(counts)}, factors)
        score, at = sum_factors(factors), now - timedelta(days=DAYS * random.random() ** 1.3)
        user = Entity(EntityType.USER, random.choice(habits).user)
        yield NewSignal(SOURCE, SIGNAL_TYPE, score, user, details, at)


def draw_habits() -> list[Habit]:
    """Return what the users of the generated world log in with."""
    networks, random = Networks(PARAMETERS), Random(f"{PARAMETERS.seed}:habits")
    return [_make_habit(resident, random) for resident in make_users(PARAMETERS, networks)]


def _make_habit(resident: Resident, random: Random) -> Habit:
    devices = [each.device_id for each in (resident.computer, resident.phone, resident.shared_computer) if each]
    office = [resident.office.address] if resident.office else []
    addresses = [resident.home.draw_address(random), resident.carrier.draw_address(random, 24), *office]
    return Habit(resident.subject_id, devices, addresses)


def _draw_times(random: np.random.Generator, count: int, now: datetime) -> list[datetime]:
    """Draw sorted times: a growing volume, quiet nights and weekends."""
    import numpy as np

    end = now.replace(minute=0, second=0, microsecond=0)
    hours = random.choice(DAYS * _HOURS_A_DAY, count, p=_weigh_hours(end))
    ms = np.sort(hours * 3_600_000 + random.integers(0, 3_600_000, count))
    start = end - timedelta(days=DAYS)
    return [start + timedelta(milliseconds=each) for each in ms.tolist()]


def _weigh_hours(end: datetime) -> NDArray[np.float64]:
    """Return the share of each hour of the year before `end`."""
    import numpy as np

    hours = np.arange(DAYS * _HOURS_A_DAY)
    start = end - timedelta(days=DAYS)
    days = (hours + start.hour) // _HOURS_A_DAY
    weekend = (start.weekday() + days) % 7 >= 5
    weights = np.array(_BUSY_HOURS)[(hours + start.hour) % _HOURS_A_DAY] * (1 + _GROWTH * hours / len(hours))
    weights = np.where(weekend, weights * _WEEKEND_SHARE, weights)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _draw_users(random: np.random.Generator, count: int, users: int) -> list[int]:
    """Draw users, a few of whom cause most signals."""
    drawn: list[int] = ((random.pareto(1.1, count) * users / 12).astype(int) % users).tolist()
    return drawn


class _Sightings:
    """What each feed reports of a user: an entity, and details that name one other entity."""

    def __init__(self, habit: Habit) -> None:
        places = [(device, ip) for device in habit.devices for ip in habit.addresses]
        self._seen = [[_describe(feed, habit.user, device, ip) for device, ip in places] for feed in _FEEDS]

    def make_signal(self, feed: int, at: datetime, score: float, draw: int) -> NewSignal:
        """Return a signal of the feed of this number; each session has its own id."""
        seen, (source, signal_type, kind, *_) = self._seen[feed], _FEEDS[feed]
        entity, details = seen[draw % len(seen)]
        if kind is EntityType.SESSION:
            entity = Entity(kind, f"session-{draw:08x}")
        return NewSignal(source, signal_type, score, entity, details, at)


def _describe(feed: Feed, user: str, device: str, ip: str) -> tuple[Entity, str]:
    ids = {EntityType.IP: ip, EntityType.DEVICE: device, EntityType.USER: user, EntityType.SESSION: ""}
    return Entity(feed.entity_type, ids[feed.entity_type]), f'{{"{feed.member}":"{ids[feed.named]}"}}'
