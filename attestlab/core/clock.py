"""Time comes in as an argument: every service is given a clock.

Times are aware, UTC, and whole milliseconds, so that what is stored, signed and
sent is one and the same value on every database.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


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
