"""Own ranges of days, and the chips of filters that are set."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab_dashboards.ranges import FIRST_DAY, LAST_DAY, DayRange, draw_own_range, read_range
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import find_period
from attestlab_dashboards.widgets import set_filters

DAYS = st.dates(FIRST_DAY, LAST_DAY)


@settings(deadline=None)
@given(DAYS, DAYS)
def test_a_range_is_the_same_in_either_order_and_comes_back_from_its_text(one: date, other: date) -> None:
    days = DayRange.parse(f"{one}/{other}")

    assert days == DayRange.parse(f"{other}/{one}") == DayRange.parse(str(days))
    assert days.end - days.start == abs(one - other) + timedelta(days=1)


@pytest.mark.parametrize("text", ["", "2026-10-04", "2026-10-04/", "1999-12-31/2026-01-01", "2026-01-01/2100-01-01"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_range(text)


@settings(deadline=None)
@given(DAYS, DAYS)
def test_the_risk_page_counts_exactly_the_days_of_a_range_and_draws_few_columns(one: date, other: date) -> None:
    state = RiskState(window=read_range(f"{one}/{other}"))
    days = state.shown_window.days
    assert days is not None
    period = find_period(state.shown_window, days.start, None, None)

    assert (period.start, period.end) == (days.start, days.end)
    assert period.window_start <= period.start < period.end <= period.window_end
    assert 1 <= len(period.steps) <= 122
    assert period.time_of(period.steps[0]) == period.window_start


def test_the_form_of_a_range_has_its_days_and_their_limits() -> None:
    drawn = str(draw_own_range("window", DayRange(date(2026, 10, 4), date(2026, 11, 2))))

    assert re.findall(r'name="(\w+)".*?min="(.*?)" max="(.*?)" value="(.*?)" required', drawn) == [
        ("from", "2000-01-01", "2099-12-31", "2026-10-04"),
        ("to", "2000-01-01", "2099-12-31", "2026-11-02"),
    ]


def test_each_filter_that_is_set_has_a_cross_and_reset_drops_all() -> None:
    drawn = str(set_filters([("source", "Source: Login"), ("kind", "Entity: User")]))

    assert re.findall(r'class="chip x" data-ev="clear" data-v="(\w+)"', drawn) == ["source", "kind", "all"]
    assert set_filters([]) == ""
