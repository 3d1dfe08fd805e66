"""When a daily use reaches a share of its limit, from a straight line through the busiest days of the last weeks.

Weeks are spans of seven full UTC days up to yesterday, so that weekends count in each of them alike; today is left out,
because it is not over. The growth is the median of the slopes between each two weeks (Theil 1950, Sen 1968), so that
one unusual week changes little. A number is reached on the first day from tomorrow on for which the line is as high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import combinations
from math import ceil
from statistics import median
from typing import Final, NamedTuple

WEEKS: Final = 6
MIN_WEEKS: Final = 3  # of a record that can be continued
MAX_AHEAD_DAYS: Final = 365  # the pace of six weeks says nothing about later
WEEK_DAYS: Final = 7
_MIDDLE: Final = WEEK_DAYS // 2


class MeterDay(NamedTuple):
    """What was used on one UTC day."""

    day: date
    used: int


class Outlook(StrEnum):
    """Whether a limit is reached, and when."""

    NO_LIMIT = "no_limit"
    REACHED = "reached"  # today
    TOO_FEW = "too_few"  # weeks to tell
    WITHIN = "within"  # this period
    LATER = "later"  # within a year
    NEVER = "never"  # within a year, at this pace


@dataclass(frozen=True)
class Trend:
    """A straight line: `base` on `first`, and `growth` more each day; `busiest` are the days that it goes through."""

    first: date
    base: float
    growth: float
    busiest: tuple[MeterDay, ...]

    def use_on(self, day: date) -> float:
        """Return what a busy day uses then."""
        return self.base + self.growth * (day - self.first).days

    def find_day(self, number: float, *, after: date) -> date | None:
        """Return the first day after `after`, and within a year of it, on which a busy day uses that much.

        >>> trend = Trend(date(2026, 11, 1), base=110, growth=2, busiest=())
        >>> trend.find_day(150, after=date(2026, 11, 5)), trend.find_day(10_000, after=date(2026, 11, 5))
        (datetime.date(2026, 11, 21), None)
        """
        next_day = after + timedelta(days=1)
        missing = number - self.use_on(next_day)
        if missing <= 0:
            return next_day
        if self.growth <= 0 or missing > self.growth * MAX_AHEAD_DAYS:
            return None
        return next_day + timedelta(days=ceil(missing / self.growth))


@dataclass(frozen=True)
class Forecast:
    """When a daily use reaches its limit; `day` is None unless a day is known."""

    outlook: Outlook
    limit: int | None
    trend: Trend | None = None
    day: date | None = None

    def find_day(self, percent: int, *, today: MeterDay) -> date | None:
        """Return the day on which a share of the limit is reached, if one is within a year."""
        if self.limit is None or self.trend is None:
            return None
        is_reached = today.used * 100 >= percent * self.limit
        return today.day if is_reached else self.trend.find_day(self.limit * percent / 100, after=today.day)


def fit_trend(days: Sequence[MeterDay]) -> Trend | None:
    """Fit a line to the busiest days of the last weeks; None if there are too few weeks.

    Args:
        days: full days without gaps, oldest first.
    """
    weeks = min(WEEKS, len(days) // WEEK_DAYS)
    if weeks < MIN_WEEKS:
        return None
    looked = days[-weeks * WEEK_DAYS :]
    spans = [looked[start : start + WEEK_DAYS] for start in range(0, len(looked), WEEK_DAYS)]
    busiest = [max(span, key=lambda each: each.used) for span in spans]
    points = [(number * WEEK_DAYS + _MIDDLE, each.used) for number, each in enumerate(busiest)]
    growth = median((later[1] - one[1]) / (later[0] - one[0]) for one, later in combinations(points, 2))
    base = median(used - growth * place for place, used in points)
    return Trend(looked[0].day, base, growth, tuple(busiest))


def forecast_limit(days: Sequence[MeterDay], *, today: MeterDay, limit: int | None, period_end: date) -> Forecast:
    """Forecast when the limit of a day is reached.

    Args:
        days: the full days before today, without gaps, oldest first.
        today: what was used so far.
        limit: of a day.
        period_end: the first day of the next billing period.
    """
    if limit is None:
        return Forecast(Outlook.NO_LIMIT, None)
    trend = fit_trend(days)
    if today.used >= limit:
        return Forecast(Outlook.REACHED, limit, trend, today.day)
    if trend is None:
        return Forecast(Outlook.TOO_FEW, limit)
    day = trend.find_day(limit, after=today.day)
    if day is None:
        return Forecast(Outlook.NEVER, limit, trend)
    return Forecast(Outlook.WITHIN if day < period_end else Outlook.LATER, limit, trend, day)
