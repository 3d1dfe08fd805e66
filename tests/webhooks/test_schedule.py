"""The schedule of deliveries: delays, jitter, Retry-After, the circuit breaker, and the end of an endpoint."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from attestlab.webhooks import schedule
from attestlab.webhooks.rules import MAX_ATTEMPTS
from attestlab.webhooks.schedule import HEALTHY, EndpointAction, EndpointHealth

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
PAGE = Path(__file__).parents[2] / "docs" / "webhooks.md"
UNITS_S = {"seconds": 1, "minutes": 60}
SPECIFIED_S = (1, 2, 4, 16, 60, 120, 300)
unit = st.floats(0, 1)


def fail(health: EndpointHealth, at: datetime, *, is_probe: bool = False) -> EndpointHealth:
    return schedule.health_after_failure(health, began_at=at, at=at, is_probe=is_probe)


def fail_times(count: int, *, at: datetime = NOW) -> EndpointHealth:
    health = HEALTHY
    for _ in range(count):
        health = fail(health, at)
    return health


def test_the_delays_are_those_of_the_documentation() -> None:
    """docs/webhooks.md lists them as `1, 2 and 5 minutes`."""
    text = PAGE.read_text().partition("| after failed attempt |")[2].partition("\n\n")[0]
    rows = re.findall(r"\| ([\d, and]+) (seconds|minutes) \|", text)
    documented = [int(each) * UNITS_S[unit] for numbers, unit in rows for each in re.findall(r"\d+", numbers)]

    assert documented == [delay.total_seconds() for delay in schedule.RETRY_DELAYS], "correct docs/webhooks.md"


@given(st.integers(1, MAX_ATTEMPTS - 1), unit)
def test_each_delay_is_the_specified_one_with_up_to_30_percent_of_jitter(attempts: int, jitter: float) -> None:
    delay = schedule.delay_after(attempts, jitter_0_1=jitter)
    assert delay is not None
    specified = SPECIFIED_S[attempts - 1]
    assert specified <= delay.total_seconds() <= specified * 1.3 + 1e-6


@given(unit, st.integers(0, 300))
def test_retry_after_makes_an_attempt_later_and_never_adds_one(jitter: float, seconds: int) -> None:
    asked = timedelta(seconds=seconds)
    for attempts in range(1, MAX_ATTEMPTS):
        plain = schedule.delay_after(attempts, jitter_0_1=jitter)
        assert plain is not None
        assert schedule.delay_after(attempts, jitter_0_1=jitter, retry_after=asked) == max(plain, asked)
    assert schedule.delay_after(MAX_ATTEMPTS, jitter_0_1=jitter, retry_after=asked) is None


def test_after_ten_consecutive_failures_there_is_one_attempt_at_a_time_and_a_second() -> None:
    assert schedule.attempts_allowed(fail_times(9), now=NOW) == 8
    health, at = fail_times(10), NOW
    for _ in range(100):
        assert schedule.attempts_allowed(health, now=at + timedelta(milliseconds=999)) == 0
        at += timedelta(seconds=1)
        assert schedule.attempts_allowed(health, now=at) == 1
        health = fail(health, at, is_probe=True)


def test_a_slow_attempt_is_followed_by_the_next_one_at_once() -> None:
    end = NOW + timedelta(seconds=5)
    health = schedule.health_after_failure(fail_times(10), began_at=NOW, at=end, is_probe=True)
    assert schedule.attempts_allowed(health, now=end) == 1


def test_attempts_that_began_before_the_circuit_opened_do_not_prolong_it() -> None:
    opened = fail_times(10)
    assert fail(opened, NOW + timedelta(seconds=4)) == opened


@given(st.lists(st.integers(1, 3 * 86_400), min_size=1, max_size=30))
def test_an_endpoint_is_disabled_after_five_days_and_a_day_after_its_warning_and_not_before(gaps: list[int]) -> None:
    health, at, warned = HEALTHY, NOW, []
    for gap in gaps:
        health = fail(health, at)
        action = schedule.action_after_failure(health, at=at)
        if action is EndpointAction.WARN:
            warned.append(at)
            health = health._replace(warned_at=at)
        failing_for = at - NOW
        must_end = failing_for >= timedelta(days=5) and bool(warned) and at - warned[0] >= timedelta(hours=24)
        assert (action is EndpointAction.DISABLE) is must_end
        assert bool(warned) is (failing_for >= timedelta(days=3))
        if must_end:
            break
        at += timedelta(seconds=gap)
    assert len(warned) <= 1
