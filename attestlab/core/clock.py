"""Clocks: the system's, the database's, and a fixed one. Every service takes its clock as an argument.

Times are aware, in UTC, and whole milliseconds, so that the stored, signed and sent
value of a time is the same on every database.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol

MIN_CLOCK_STEP_S = 0.05  # the clock is not adjusted for smaller differences


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> datetime:
        """Return the current time: aware, UTC, whole milliseconds."""
        ...


def truncate_to_milliseconds(at: datetime) -> datetime:
    """Convert a time to UTC and truncate it to milliseconds."""
    at = at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class FixedClock:
    """A clock that changes only by `advance`; for tests, demos and replays."""

    def __init__(self, at: datetime) -> None:
        self.at = truncate_to_milliseconds(at)

    def now(self) -> datetime:
        return self.at

    def advance(self, by: timedelta) -> None:
        """Move the clock forward by `by`."""
        self.at = truncate_to_milliseconds(self.at + by)


class ContinuedClock:
    """The clock of another process, continued by this process's monotonic clock from a moment that it was sent."""

    def __init__(self, at: datetime) -> None:
        self._at, self._since_s = at, monotonic()

    def now(self) -> datetime:
        return truncate_to_milliseconds(self._at + timedelta(seconds=monotonic() - self._since_s))


class DatabaseClock:
    """The clock of the database that several hosts share, as measured by this process.

    Hosts that share counts, blocks, leases and tokens must agree on the time even if their own clocks differ. So
    the time is the database's at the last measurement plus the time that the process's monotonic clock has counted
    since. This needs no query per request, does not jump when a host's clock is corrected, and never waits for a
    silent database. Each new connection measures the clock, and a server does so every few seconds. A measurement
    is accurate to half its round trip, so a smaller difference changes nothing. Before the first measurement the
    machine's clock is used.
    """

    def __init__(self) -> None:
        self._origin: tuple[datetime, float] | None = None  # the database's time, and the monotonic clock's then

    def now(self) -> datetime:
        origin = self._origin
        if origin is None:
            return SystemClock().now()
        return truncate_to_milliseconds(origin[0] + timedelta(seconds=monotonic() - origin[1]))

    def add_measurement(self, at: datetime, *, sent_at: float, received_at: float) -> None:
        """Record that the database's clock showed `at` between two moments of the monotonic clock."""
        round_trip_s, middle = received_at - sent_at, (sent_at + received_at) / 2
        if self._origin is not None:
            expected = self._origin[0] + timedelta(seconds=middle - self._origin[1])
            if abs((at - expected).total_seconds()) <= max(round_trip_s, MIN_CLOCK_STEP_S):
                return
        self._origin = (at.astimezone(UTC), middle)
