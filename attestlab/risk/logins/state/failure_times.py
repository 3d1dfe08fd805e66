"""Times of one user's failed logins: the ladder stays exact in bounded memory.

Of each hour it keeps the first 20 and the last 20 times. A window of one hour covers parts of at most two such
hours: the end of one and the beginning of the next. So the number of failures in any window is exact up to 20,
which is all that the ladder distinguishes, whatever the order in which they arrived. Beyond `MAX_TIMES`, the oldest
hours are dropped; three full hours always remain.
"""

from __future__ import annotations

from bisect import insort

from attestlab.risk.logins.parameters import HOUR_MS, LADDER_WINDOW_MS

MAX_OF_EACH_END = 20
MAX_TIMES = 4 * 2 * MAX_OF_EACH_END


class FailureTimes:
    """Sorted times in milliseconds after each full hour, by hour."""

    __slots__ = ("_hours",)

    def __init__(self, hours: dict[int, list[int]]) -> None:
        self._hours = hours

    @classmethod
    def from_json(cls, stored: list[list[int]]) -> FailureTimes:
        """Read `[hour, offset, offset, ...]` for each hour."""
        return cls({line[0]: line[1:] for line in stored})

    def to_json(self) -> list[list[int]]:
        """Return the inverse of `from_json`."""
        return [[hour, *offsets] for hour, offsets in self._hours.items()]

    def count(self, at_ms: int) -> int:
        """Return the failures in the hour that ends at `at_ms`, this moment included; exact up to 20."""
        hour, offset = divmod(at_ms, HOUR_MS)
        now, before = self._hours.get(hour, ()), self._hours.get(hour - LADDER_WINDOW_MS // HOUR_MS, ())
        return sum(each <= offset for each in now) + sum(each > offset for each in before)

    def with_failure(self, at_ms: int) -> FailureTimes:
        """Return the times with one more."""
        hour, offset = divmod(at_ms, HOUR_MS)
        offsets = [*self._hours.get(hour, ())]
        insort(offsets, offset)
        if len(offsets) > 2 * MAX_OF_EACH_END:
            offsets.pop(MAX_OF_EACH_END)
        return FailureTimes(_drop_oldest({**self._hours, hour: offsets}))


def _drop_oldest(hours: dict[int, list[int]]) -> dict[int, list[int]]:
    while sum(map(len, hours.values())) > MAX_TIMES:
        del hours[min(hours)]
    return hours
