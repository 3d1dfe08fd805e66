"""The rhythm of a source: how long it usually pauses between hours with signals, and from when on it is silent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import NamedTuple

RHYTHM_DAYS = 30  # before the source was last seen
MIN_PAUSES = 3  # fewer are no rhythm, so such a source is never silent
PATIENCE = 2.0  # times the usual longest pause


class Rhythm(NamedTuple):
    """The pauses of a source: the typical one, and the quiet time after which the source is silent.

    Both are None without a rhythm.
    """

    typical_gap: timedelta | None
    silent_after: timedelta | None

    def is_silent(self, last_seen: datetime, now: datetime) -> bool:
        """Return whether a source that was last seen at a moment is silent now."""
        return self.silent_after is not None and now - last_seen > self.silent_after


def find_rhythm(active_hours: Sequence[int]) -> Rhythm:
    """Find the rhythm of a source by the hours in which it had signals, in ascending order.

    The typical gap is the median pause. The source is silent after `PATIENCE` times its second longest pause: the
    longest may have been an outage, and nights and weekends are pauses of several times.

    >>> find_rhythm([0, 1, 2, 3, 20, 21]).silent_after
    datetime.timedelta(seconds=7200)
    """
    pauses = sorted(later - earlier for earlier, later in pairwise(active_hours))
    if len(pauses) < MIN_PAUSES:
        return Rhythm(None, None)
    return Rhythm(timedelta(hours=median(pauses)), timedelta(hours=PATIENCE * pauses[-2]))
