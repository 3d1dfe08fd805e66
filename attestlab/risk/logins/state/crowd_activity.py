"""Successes and strangers' failures of a crowd, counted by time: the tenant, a country, or a client.

Only whole slots, hours and days before the moment in question are used. So a count does not depend on what happens
later in the same slot, and a login that arrives late meets the counts of the time when it happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict, cast

from attestlab.core.json_types import JsonObject
from attestlab.risk.logins.parameters import DAY_MS, HOUR_MS, MINUTE_MS, SOURCE_TTL_MS

LENGTHS_MS = {"slots": 10 * MINUTE_MS, "hours": HOUR_MS, "days": DAY_MS}
MAX_PERIODS = {"slots": 24, "hours": 48, "days": 21}


class Tally(NamedTuple):
    """Counts of one period.

    `users` counts each user once a day, `strange_successes` those with a stranger's values.
    """

    successes: int = 0
    strangers: int = 0
    users: int = 0
    strange_successes: int = 0


_EMPTY = Tally()


def _add(first: Tally, second: Tally) -> Tally:
    return Tally(first[0] + second[0], first[1] + second[1], first[2] + second[2], first[3] + second[3])


class StoredCrowdActivity(TypedDict):
    """The JSON form of a document, as `to_json` writes it."""

    periods: dict[str, list[list[int]]]
    newest_ms: int


@dataclass(slots=True)
class CrowdActivity:
    """Tallies of the newest slots of ten minutes, hours, and days, by the number of the period since 1970."""

    periods: dict[str, dict[int, Tally]] = field(default_factory=lambda: {name: {} for name in LENGTHS_MS})
    newest_ms: int = 0

    @classmethod
    def from_json(cls, stored: JsonObject) -> CrowdActivity:
        """Read what `to_json` made."""
        document = cast(StoredCrowdActivity, stored)
        periods = {name: {line[0]: Tally(*line[1:]) for line in lines} for name, lines in document["periods"].items()}
        return cls(periods, document["newest_ms"])

    def to_json(self) -> JsonObject:
        """Return `[period, successes, strangers, users, strange_successes]` for each period."""
        lines = {
            name: [[number, *tally] for number, tally in tallies.items()] for name, tallies in self.periods.items()
        }
        return {"periods": lines, "newest_ms": self.newest_ms}

    @property
    def expires_at_ms(self) -> int:
        """When the document may be dropped."""
        return self.newest_ms + SOURCE_TTL_MS

    def sum_window(self, name: str, count: int, at_ms: int) -> Tally:
        """Sum the last `count` whole periods before that moment; after hours, the whole slots of the hour that runs."""
        now = at_ms // LENGTHS_MS[name]
        total = self._sum_periods(name, now - count, now)
        if name != "hours":
            return total
        first, end = (at // LENGTHS_MS["slots"] for at in (now * HOUR_MS, at_ms))
        return _add(total, self._sum_periods("slots", first, end))

    def _sum_periods(self, name: str, first: int, end: int) -> Tally:
        total = _EMPTY
        for number, tally in self.periods[name].items():
            if first <= number < end:
                total = _add(total, tally)
        return total

    def count_user_days(self, at_ms: int) -> int:
        """Count, over the whole days before that day, the users of each."""
        return self.sum_window("days", MAX_PERIODS["days"], at_ms).users

    def past_days(self, at_ms: int) -> list[Tally]:
        """Return the whole days before that day."""
        return [tally for day, tally in self.periods["days"].items() if day < at_ms // DAY_MS]

    def with_counts(self, at_ms: int, added: Tally) -> CrowdActivity:
        """Return the document with counts added to the periods of that moment."""
        periods = {
            name: _with_tally(name, tallies, at_ms // LENGTHS_MS[name], added) for name, tallies in self.periods.items()
        }
        return CrowdActivity(periods, max(self.newest_ms, at_ms))


def _with_tally(name: str, tallies: dict[int, Tally], number: int, added: Tally) -> dict[int, Tally]:
    kept = {**tallies, number: _add(tallies.get(number, _EMPTY), added)}
    if len(kept) > MAX_PERIODS[name]:
        del kept[min(kept)]
    return kept
