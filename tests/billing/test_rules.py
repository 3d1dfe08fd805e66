"""Periods, prices and thresholds: pure rules, as properties."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.billing.charges import charge_addons, charge_plan, sum_lines
from attestlab.billing.rules import Prices, highest_threshold, month_of, parse_month, prorate
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import AddOn, Plan

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
AMOUNTS = st.integers(0, 10**9)
PAID = [Plan.FREE, Plan.STARTER, Plan.PROFESSIONAL]


@given(MOMENTS)
def test_a_month_contains_its_moment_and_the_next_one_begins_at_its_end(at: datetime) -> None:
    period = month_of(at)

    assert period.start <= at < period.end
    assert month_of(period.end).start == period.end
    assert (period.start.day, period.start.hour, period.start.microsecond) == (1, 0, 0)


@given(AMOUNTS, MOMENTS)
def test_the_rest_of_a_month_costs_from_nothing_to_the_whole_month(amount: int, at: datetime) -> None:
    period = month_of(at)

    assert 0 <= prorate(amount, at) <= amount
    assert prorate(amount, period.start) == amount
    assert prorate(amount, period.end - timedelta(seconds=1)) <= amount // (28 * 24 * 3600)


@given(st.lists(st.sampled_from(PAID), max_size=6), st.integers(0, 10**6), st.integers(0, 10**6), MOMENTS)
def test_however_often_a_plan_changes_a_month_costs_no_more_than_its_dearest_plan(
    plans: list[Plan], starter: int, more: int, at: datetime
) -> None:
    prices = Prices("USD", starter, starter + more, 0)
    covered, charged = Plan.FREE, 0

    for number, plan in enumerate(plans):
        moment = at + (month_of(at).end - at) * number / (len(plans) + 1)
        lines = charge_plan(prices, covered, plan, moment)
        assert all(line.amount_minor > 0 for line in lines)
        charged += sum_lines(lines)
        covered = plan if prices.is_dearer(plan, covered) else covered

    assert charged <= (prices.plan(covered) or 0)


@given(st.lists(st.integers(0, 1000), max_size=6), AMOUNTS, MOMENTS)
def test_however_often_an_addon_comes_and_goes_a_month_costs_no_more_than_its_most_units(
    quantities: list[int], unit: int, at: datetime
) -> None:
    prices = Prices("USD", 0, 0, unit)
    covered, charged = 0, 0

    for quantity in quantities:
        charged += sum_lines(charge_addons(prices, {AddOn.EXTRA_ISSUERS: covered}, {AddOn.EXTRA_ISSUERS: quantity}, at))
        covered = max(covered, quantity)

    assert charged == covered * prorate(unit, at)


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-00", "26-11", "2026-1", "9999-01", "0000-01", "\uff12026-11"]
)
def test_a_month_is_a_year_with_a_month(text: str) -> None:
    with pytest.raises(ValidationFailed, match="Send a year and a month, such as 2026-11"):
        parse_month(text)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_threshold_is_reached_exactly_when_its_share_is_used(used: int, limit: int) -> None:
    reached = [percent for percent in (80, 90, 100) if used and used / max(limit, 1e-9) >= percent / 100]

    assert highest_threshold(used, limit) == (max(reached) if reached else None)
