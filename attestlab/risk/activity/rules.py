"""Rules of activity: the drift of scores, and the rhythm of a source.

Drift is measured by the population stability index (PSI) of the scores in a window against those in an earlier one. It
sums `(p - q) ln(p / q)` over classes of scores, p and q being a class's shares in the two windows. The usual reading
is: below 0.1 stable, below 0.25 moderate, otherwise major (Siddiqi, Credit Risk Scorecards, 2006).

The rhythm is how long a source usually pauses between hours with signals, and from when on it is silent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import NamedTuple

MODERATE, MAJOR = 0.1, 0.25
MIN_SIGNALS = 500  # in each window; chance alone then makes a PSI of 0.036 on average
SMOOTHING = 0.5  # signals that are added to each class, because an empty one would make the PSI infinite
RHYTHM_DAYS = 30  # before the source was last seen
MIN_PAUSES = 3  # fewer are no rhythm, so such a source is never silent
MIN_SPAN_H = 48  # hours from the first signal to the last; a source that is younger has not shown its nights
PATIENCE = 2.0  # times the usual longest pause


class DriftLevel(StrEnum):
    """How much the scores changed; `too_few` if there are too few signals to say."""

    STABLE = "stable"
    MODERATE = "moderate"
    MAJOR = "major"
    TOO_FEW = "too_few"


def compute_psi(counts: Sequence[int], reference: Sequence[int]) -> float:
    """Return the PSI of the counts by class of two windows, with six decimals.

    >>> compute_psi([50, 50], [50, 50])
    0.0
    >>> compute_psi([700, 300], [500, 500])
    0.1691
    """
    shares, reference_shares = _smooth(counts), _smooth(reference)
    pairs = zip(shares, reference_shares, strict=True)
    return round(math.fsum((p - q) * math.log(p / q) for p, q in pairs), 6)


def find_drift_level(psi: float | None) -> DriftLevel:
    """Return what a PSI means; None is the PSI of too few signals."""
    if psi is None:
        return DriftLevel.TOO_FEW
    if psi < MODERATE:
        return DriftLevel.STABLE
    return DriftLevel.MODERATE if psi < MAJOR else DriftLevel.MAJOR


def _smooth(counts: Sequence[int]) -> list[float]:
    total = sum(counts) + SMOOTHING * len(counts)
    return [(count + SMOOTHING) / total for count in counts]


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
