"""The windows of velocity scoring and the score of their counts (CONTRACT section 8).

A window of a moment `t` holds what occurred after `t - seconds` and up to `t`.

>>> [(factor.name, factor.contribution) for factor in score_counts([1, 1, 1, 1])]
[('count_1m', 9.2308), ('count_5m', 2.0513), ('count_1h', 0.2564), ('count_24h', 0.0256)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attestlab.risk.rules import MAX_SCORE, SCORE_DECIMALS, Factor


class Window(NamedTuple):
    """A sliding window: its name, length, weight in the score, and the count that reaches the full weight."""

    name: str
    seconds: int
    weight: int
    limit: int


WINDOWS = (
    Window("1m", 60, 30, 5),
    Window("5m", 300, 20, 15),
    Window("1h", 3_600, 10, 60),
    Window("24h", 86_400, 5, 300),
)
DAY_S = WINDOWS[-1].seconds
_TOTAL_WEIGHT = sum(window.weight for window in WINDOWS)


def score_counts(counts: Sequence[int]) -> list[Factor]:
    """Return the factors of the counts, one per window: weight x min(1, count / limit), scaled to 100 points."""
    return [_score(window, count) for window, count in zip(WINDOWS, counts, strict=True)]


def _score(window: Window, count: int) -> Factor:
    share = window.weight * min(1.0, count / window.limit) / _TOTAL_WEIGHT
    text = (
        f"{count} within {window.name}; {window.limit} give the full {MAX_SCORE * window.weight / _TOTAL_WEIGHT:.1f}."
    )
    return Factor(f"count_{window.name}", count, window.weight, round(MAX_SCORE * share, SCORE_DECIMALS), text)
