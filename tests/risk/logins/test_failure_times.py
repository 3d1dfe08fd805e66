"""The ladder's memory: exact up to 20 in any order of arrival, and bounded."""

from __future__ import annotations

import json
from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from attestlab.risk.logins.detector import read_ladder
from attestlab.risk.logins.parameters import HOUR_MS
from attestlab.risk.logins.user_documents import FailureTimes
from support.logins import FAILURE, MONDAY, SUCCESS, Tenant

MINUTES = st.integers(0, 150)


@given(arrivals=st.lists(st.tuples(MINUTES, st.booleans()), max_size=50))
def test_the_ladder_is_exact_for_logins_that_arrive_in_any_order(arrivals: list[tuple[int, bool]]):
    """Each login counts the failures that arrived before it and happened within the hour before it."""
    tenant, failures = Tenant(), []
    for minute, is_failure in arrivals:
        outcome = FAILURE if is_failure else SUCCESS
        failures += [minute] * is_failure
        assessment = tenant.assess("user-1", outcome, MONDAY + timedelta(minutes=minute), ip=None)

        expected = sum(minute - 60 < each <= minute for each in failures)
        assert assessment.factors[0].contribution == read_ladder(expected)


@given(times=st.lists(st.integers(0, 3 * HOUR_MS - 1), max_size=400), at=st.integers(0, 3 * HOUR_MS - 1))
@example(times=[*range(45)], at=HOUR_MS + 30)  # of more than forty in an hour the newest count, too
def test_counts_of_any_window_are_exact_up_to_twenty(times: list[int], at: int):
    remembered = FailureTimes({})
    for each in times:
        remembered = remembered.with_failure(each)
    exact = sum(at - HOUR_MS < each <= at for each in times)

    assert min(20, remembered.count(at)) == min(20, exact)
    assert remembered.count(at) <= exact


def test_memory_of_a_user_under_attack_is_bounded():
    remembered = FailureTimes({})
    for number in range(20_000):
        remembered = remembered.with_failure(number * 5_000)  # every 5 seconds for 28 hours

    assert remembered.count(20_000 * 5_000 - 1) >= 20
    assert len(json.dumps(remembered.to_json())) < 2_000


def test_a_failure_leaves_the_window_after_exactly_an_hour():
    remembered = FailureTimes({}).with_failure(1_000)

    assert remembered.count(1_000 + HOUR_MS - 1) == 1
    assert remembered.count(1_000 + HOUR_MS) == 0
    assert remembered.count(999) == 0
