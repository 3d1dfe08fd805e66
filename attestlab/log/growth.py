"""Growth of the log by day (UTC), from the times of its checkpoints.

Sizes and times of checkpoints grow together, so the size of the log at a moment is found by bisection over the sizes;
the table needs no index of times. A day that is over never changes, so its size is looked up once.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import Connection

from attestlab.log import store


class DailyGrowth:
    """New entries of each day. Thread-safe: two threads at most look a day up twice."""

    def __init__(self) -> None:
        self._sizes: dict[date, int] = {}  # of the log at the end of days that are over

    def count_new_entries(self, connection: Connection, *, size: int, today: date, days: int) -> list[int]:
        """Count the new entries of the last `days` days, oldest first, the last one today; `size` is the log's now."""
        past = [today - timedelta(days=back) for back in range(days, 0, -1)]
        self._sizes = {day: found for day, found in self._sizes.items() if day >= past[0]}
        sizes = [0]
        for day in past:
            sizes.append(self._size_after(connection, day, at_least=sizes[-1], at_most=size))
        return [later - earlier for earlier, later in zip(sizes[1:], [*sizes[2:], size], strict=True)]

    def _size_after(self, connection: Connection, day: date, *, at_least: int, at_most: int) -> int:
        if day not in self._sizes:
            end = datetime.combine(day + timedelta(days=1), time(), UTC)
            self._sizes[day] = size_at(connection, end, at_least=at_least, at_most=at_most)
        return self._sizes[day]


def size_at(connection: Connection, moment: datetime, *, at_least: int, at_most: int) -> int:
    """Find the size of the newest checkpoint before a moment, which lies between the two sizes."""
    low, high = at_least, at_most
    while low < high:
        middle = (low + high + 1) // 2
        signed = store.newest_checkpoint_within(connection, middle)
        if signed is None or signed.at < moment:
            low = middle
        else:
            high = max(low, signed.size - 1)
    signed = store.newest_checkpoint_within(connection, low)
    return 0 if signed is None else signed.size
