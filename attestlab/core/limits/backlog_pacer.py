"""How fast a backlog is worked off beside everything else there is to do."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

BEHIND_S = 0.1  # what was not taken for longer than this is not made up for


class BacklogPacer:
    """Says how many to take next, so that it comes to `per_second` and every portion takes about as long.

    Whoever waits behind a long portion waits long, whatever the average is. So one takes `most` where nobody waits,
    `each` fewer for everybody who does, and `fewest` at least.
    """

    def __init__(
        self, per_second: float, *, fewest: int, most: int, each: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._per_second, self._fewest, self._most, self._each = per_second, fewest, most, each
        self._clock = clock
        self._last = clock() - BEHIND_S
        self._due = 0.0

    def next(self, waiting: int) -> int:
        """How many, where so many others wait for the same moment."""
        now = self._clock()
        self._due = min(self._due + (now - self._last) * self._per_second, BEHIND_S * self._per_second)
        self._last = now
        taken = int(max(self._fewest, min(self._due, self._most - self._each * waiting)))
        self._due = max(0.0, self._due - taken)  # more than was due is no debt: there was time for it
        return taken
