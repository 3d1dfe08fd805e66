"""A clock that the demo world lives through its year with."""

from __future__ import annotations

from datetime import datetime, timedelta

from attestlab.core.clock import Clock, truncate_to_milliseconds


class RewoundClock:
    """A clock that is `behind` another one by a duration, which `move_to` can only shorten."""

    def __init__(self, clock: Clock, *, behind: timedelta) -> None:
        self._clock = clock
        self.behind = behind

    def now(self) -> datetime:
        return truncate_to_milliseconds(self._clock.now() - self.behind)

    def move_to(self, behind: timedelta) -> None:
        """Move forward, to `behind` the other clock; a longer duration than now changes nothing."""
        self.behind = min(self.behind, behind)
