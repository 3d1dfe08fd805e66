"""When a daily use reaches its limit: a line through the busiest days of the last weeks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from attestlab_dashboards.usage.forecast import WEEK_DAYS, WEEKS, Forecast, MeterDay, Outlook, fit_trend, forecast_limit

TODAY = date(2026, 11, 2)
PERIOD_END = date(2026, 12, 1)
GROWTH = 10  # each day


def days_of(used: Sequence[int]) -> list[MeterDay]:
    """Full days, of which the last one is yesterday."""
    return [MeterDay(TODAY - timedelta(days=len(used) - place), each) for place, each in enumerate(used)]


def forecast(used: Sequence[int], limit: int | None, *, today: int = 0) -> Forecast:
    return forecast_limit(days_of(used), today=MeterDay(TODAY, today), limit=limit, period_end=PERIOD_END)


def weekly(busiest: Sequence[int]) -> list[int]:
    """Weeks with five such days, and two of half the use."""
    return [used for most in busiest for used in (*[most] * 5, most // 2, most // 2)]


def test_the_line_is_continued_to_the_limit() -> None:
    used = [1_000 + GROWTH * day for day in range(WEEKS * WEEK_DAYS)]  # 1,410 yesterday
    found = forecast(used, 1_600)

    assert found.outlook is Outlook.WITHIN
    assert found.trend is not None
    assert found.trend.growth == GROWTH
    # A week's busiest day is its last one, and stands for its middle: the line is three days ahead of the days.
    assert found.day == TODAY + timedelta(days=(1_600 - 1_420) // GROWTH - 3)


def test_weekends_do_not_bend_the_line() -> None:
    trend = fit_trend(days_of(weekly([100, 120, 140, 160, 180, 200])))

    assert trend is not None
    assert trend.growth * WEEK_DAYS == pytest.approx(20)
    assert trend.use_on(TODAY) == pytest.approx(200 + 4 * 20 / 7)


def test_one_unusual_week_changes_little() -> None:
    usual, unusual = (fit_trend(days_of(weekly(used))) for used in ([10] * 6, [10, 10, 10, 900, 10, 10]))

    assert usual is not None
    assert unusual is not None
    assert usual.growth == unusual.growth == 0


@pytest.mark.parametrize("busiest", [[50] * 6, [90, 80, 70, 60, 50, 40]], ids=["level", "falling"])
def test_a_use_that_does_not_grow_never_reaches_the_limit(busiest: list[int]) -> None:
    assert forecast(weekly(busiest), 100) == Forecast(Outlook.NEVER, 100, fit_trend(days_of(weekly(busiest))))


def test_a_use_that_is_as_high_already_reaches_it_tomorrow() -> None:
    found = forecast(weekly([50] * 6), 50, today=10)

    assert (found.outlook, found.day) == (Outlook.WITHIN, TODAY + timedelta(days=1))


@pytest.mark.parametrize(("limit", "outlook"), [(1_000, Outlook.WITHIN), (1_001, Outlook.LATER)])
def test_the_period_ends_before_its_last_day(limit: int, outlook: Outlook) -> None:
    """The line is 1,000 on the last day of the period, and grows by 7 a week, so by 1 a day."""
    last_day = PERIOD_END - timedelta(days=1)
    base = 1_000 - (last_day - TODAY).days - 4  # on the middle of the last week, four days ago
    found = forecast(weekly([base - 7 * weeks for weeks in range(5, -1, -1)]), limit)

    assert found.outlook is outlook
    assert found.day == last_day + timedelta(days=limit - 1_000)


def test_a_limit_that_takes_years_is_not_dated() -> None:
    found = forecast(weekly([100, 101, 102, 103, 104, 105]), 10**9)

    assert (found.outlook, found.day) == (Outlook.NEVER, None)


@pytest.mark.parametrize(
    ("used", "limit", "today", "outlook"),
    [
        ([5] * 42, None, 5, Outlook.NO_LIMIT),
        ([5] * 42, 10, 10, Outlook.REACHED),
        ([5] * 20, 10, 5, Outlook.TOO_FEW),
        ([], 10, 5, Outlook.TOO_FEW),
        ([], 10, 11, Outlook.REACHED),
        ([], 0, 0, Outlook.REACHED),
    ],
)
def test_what_cannot_be_forecast_is_said(used: list[int], limit: int | None, today: int, outlook: Outlook) -> None:
    found = forecast(used, limit, today=today)

    assert found.outlook is outlook
    assert found.day == (TODAY if outlook is Outlook.REACHED else None)


def test_a_share_that_is_used_today_is_reached_today() -> None:
    found, today = forecast(weekly([10, 20, 30, 40, 50, 60]), 100, today=85), MeterDay(TODAY, 85)

    assert found.find_day(80, today=today) == TODAY
    assert found.find_day(90, today=today) == TODAY + timedelta(days=18)  # three weeks after the middle of the last one
    assert found.find_day(100, today=today) == found.day
