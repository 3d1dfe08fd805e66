"""The rhythm of a source: how long it usually pauses between hours with signals, and from when on it is silent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import NamedTuple

RHYTHM_DAYS = 30  # before the source was last seen
MIN_PAUSES = 3  # fewer are no rhythm, so such a source is never silent
MIN_SPAN_H = 48  # hours from the first signal to the last; a source that is younger has not shown its nights
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

    A source with few pauses, or known for a short time, has no rhythm: it may be one batch.

    >>> find_rhythm([0, 8, 24, 32, 48, 56]).silent_after
    datetime.timedelta(days=1, seconds=28800)
    """
    pauses = sorted(later - earlier for earlier, later in pairwise(active_hours))
    if len(pauses) < MIN_PAUSES or sum(pauses) < MIN_SPAN_H:
        return Rhythm(None, None)
    return Rhythm(timedelta(hours=median(pauses)), timedelta(hours=PATIENCE * pauses[-2]))
