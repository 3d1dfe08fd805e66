"""Drift: the population stability index (PSI) of scores in a window against an earlier one.

The PSI sums `(p - q) ln(p / q)` over classes of scores, p and q being a class's shares in the two windows. The usual
reading is: below 0.1 stable, below 0.25 moderate, otherwise major (Siddiqi, Credit Risk Scorecards, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

MODERATE, MAJOR = 0.1, 0.25
MIN_SIGNALS = 500  # in each window; chance alone then makes a PSI of 0.036 on average
SMOOTHING = 0.5  # signals that are added to each class, because an empty one would make the PSI infinite


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
