"""Time comes in as an argument: every service is given a clock.

Times are aware, UTC, and whole milliseconds, so that what is stored, signed and
sent is one and the same value on every database.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol

MIN_CLOCK_STEP_S = 0.05  # smaller differences are not worth a step of the clock


class Clock(Protocol):
    """Says what time it is."""

    def now(self) -> datetime:
        """The current moment: aware, UTC, whole milliseconds."""
        ...


def whole_milliseconds(at: datetime) -> datetime:
    """The same moment in UTC, cut to milliseconds."""
    at = at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class FixedClock:
    """A clock that moves only when told to; for tests, demos and replays."""

    def __init__(self, at: datetime) -> None:
        self.at = whole_milliseconds(at)

    def now(self) -> datetime:
        return self.at

    def advance(self, by: timedelta) -> None:
        """Let `by` pass."""
        self.at = whole_milliseconds(self.at + by)


class DatabaseClock:
    """The clock of the database that several hosts share, as this process measured it.

    Hosts that share counts, blocks, leases and tokens must agree on the time, whatever their own clocks show. So
    the time is the database's at the last measurement plus what the process's monotonic clock counted since: no
    query for each request, no jump when a host's clock is corrected, and no wait while the database is silent.
    Each new connection measures it, and a server once every few seconds. A measurement is known to half its round
    trip, so one that differs by less changes nothing. Before the first it is the machine's clock.
    """

    def __init__(self) -> None:
        self._origin: tuple[datetime, float] | None = None  # the database's time, and the monotonic clock's then

    def now(self) -> datetime:
        origin = self._origin
        if origin is None:
            return SystemClock().now()
        return whole_milliseconds(origin[0] + timedelta(seconds=monotonic() - origin[1]))

    def add_measurement(self, at: datetime, *, sent_at: float, received_at: float) -> None:
        """Take in that the database's clock showed `at` between two moments of the monotonic clock."""
        round_trip_s, middle = received_at - sent_at, (sent_at + received_at) / 2
        if self._origin is not None:
            expected = self._origin[0] + timedelta(seconds=middle - self._origin[1])
            if abs((at - expected).total_seconds()) <= max(round_trip_s, MIN_CLOCK_STEP_S):
                return
        self._origin = (at.astimezone(UTC), middle)
