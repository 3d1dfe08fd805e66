"""Precision, recall and false-positive rate with Wilson score intervals (JASA 22, 1927), and the cost of errors.

The interval of a proportion holds its true value in 95 % of samples, if the signals are independent of each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

_Z = 1.959963984540054  # the normal quantile of 0.975
MAX_COST = 1e9
COST_OF_MISSED_FRAUD, COST_OF_FALSE_ALARM = 10.0, 1.0


class Proportion(NamedTuple):
    """A share with its interval; without any observation the value is None and the interval is 0 to 1."""

    value: float | None
    low: float
    high: float

    @classmethod
    def of(cls, part: int, whole: int) -> Proportion:
        """Return the share of `part` in `whole` with its 95 % Wilson interval.

        >>> Proportion.of(8, 10)
        Proportion(value=0.8, low=0.4901624715, high=0.9433178485)
        """
        if not whole:
            return cls(None, 0.0, 1.0)
        share, spread = part / whole, _Z**2 / whole
        middle = share + spread / 2
        reach = _Z * math.sqrt(share * (1 - share) / whole + spread / (4 * whole))
        low = (middle - reach) / (1 + spread) if part else 0.0
        high = (middle + reach) / (1 + spread) if part < whole else 1.0
        return cls(share, round(low, 10), round(high, 10))

    def __str__(self) -> str:
        if self.value is None:
            return "unknown"
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


class Confusion(NamedTuple):
    """The labelled signals by label and decision; positive is an escalated signal, true a correct decision."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def precision(self) -> Proportion:
        """The share of fraud in what is escalated."""
        return Proportion.of(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> Proportion:
        """The share of the fraud that is escalated."""
        return Proportion.of(self.true_positive, self.true_positive + self.false_negative)

    @property
    def fpr(self) -> Proportion:
        """The share of the legitimate signals that are escalated."""
        return Proportion.of(self.false_positive, self.false_positive + self.true_negative)


class ErrorCosts(NamedTuple):
    """The cost of one missed fraud and of one false alarm, in any unit."""

    missed_fraud: float = COST_OF_MISSED_FRAUD
    false_alarm: float = COST_OF_FALSE_ALARM

    def total(self, confusion: Confusion) -> float:
        """Return the cost of all wrong decisions."""
        return confusion.false_negative * self.missed_fraud + confusion.false_positive * self.false_alarm
