"""How often each issuer of the demo mints: a university by term, a club by season, an archive each week."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

_DAYS_A_WEEK = 7


class Batch(NamedTuple):
    """Attestations of one schema that an issuer mints together, some days before today."""

    days_ago: float
    issuer: str
    schema: str
    size: int


class Weekly(NamedTuple):
    """A span in which an issuer mints every `every_weeks` weeks, `size` attestations on average."""

    issuer: str
    schema: str
    first_days_ago: int
    last_days_ago: int
    size: float
    every_weeks: int = 1


_WEEKLY: Sequence[Weekly] = (
    Weekly("Northfield University", "transcript", 360, 3, 2),
    Weekly("Canton Archive", "chain-of-custody", 361, 1, 5),
    Weekly("Harbour Training", "training-completion", 352, 5, 16, every_weeks=4),
    Weekly("Delta Clinics", "vaccination-record", 358, 120, 2),
    Weekly("Delta Clinics", "vaccination-record", 119, 2, 6),
    Weekly("Rowing Club Aare", "completion-cert", 200, 110, 3, every_weeks=2),
    Weekly("Maker Guild", "skill-badge", 350, 4, 3, every_weeks=2),
    Weekly("Ana's Workshop", "product-authenticity", 340, 36, 3, every_weeks=2),
    Weekly("Orchard Press", "micro-credential", 300, 60, 2, every_weeks=3),
    Weekly("Orchard Press", "micro-credential", 56, 3, 7),
)
_SEASONS: Sequence[Batch] = (
    *(Batch(328.0 - day, "Northfield University", "degree", 22) for day in range(3)),
    *(Batch(149.0 - day, "Northfield University", "degree", 38) for day in range(4)),
    *(Batch(246.0 - day, "Rowing Club Aare", "membership-card", 24) for day in (0, 1, 7)),
    Batch(60.1, "Delta Clinics", "vaccination-record", 9),
    Batch(59.0, "Delta Clinics", "vaccination-record", 7),
)


def draw_batches(*, seed: int, times: int = 1) -> list[Batch]:
    """Draw all batches of the year, each `times` as large as an ordinary one."""
    random = Random(f"{seed}:rhythms")
    drawn = [*_SEASONS, *(batch for weekly in _WEEKLY for batch in _draw_weekly(weekly, random))]
    return [batch._replace(size=times * batch.size) for batch in drawn]


def _draw_weekly(weekly: Weekly, random: Random) -> Iterator[Batch]:
    days_ago = float(weekly.first_days_ago)
    while days_ago > weekly.last_days_ago:
        size = max(1, round(weekly.size * random.uniform(0.5, 1.5)))
        yield Batch(days_ago, weekly.issuer, weekly.schema, size)
        days_ago -= _DAYS_A_WEEK * weekly.every_weeks + random.uniform(-1, 1)
