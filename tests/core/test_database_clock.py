"""DatabaseClock: one time for all hosts, even if their own clocks differ."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest

from attestlab.core.clock import DatabaseClock

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LONG_BEFORE = NOON - timedelta(days=400)


def seconds_off(clock: DatabaseClock, expected: datetime) -> float:
    return abs((clock.now() - expected).total_seconds())


def test_clock_adds_elapsed_time_to_the_measurement() -> None:
    clock, then = DatabaseClock(), monotonic() - 3600

    clock.add_measurement(LONG_BEFORE, sent_at=then, received_at=then)

    assert seconds_off(clock, LONG_BEFORE + timedelta(hours=1)) < 60, "a machine that is slow, not one that is wrong"


def test_clock_follows_the_database() -> None:
    clock, now = DatabaseClock(), monotonic()
    clock.add_measurement(LONG_BEFORE, sent_at=now, received_at=now)

    clock.add_measurement(NOON, sent_at=now, received_at=now)

    assert seconds_off(clock, NOON) < 60


@pytest.mark.parametrize(("round_trip_s", "is_believed"), [(0.01, True), (20, False)])
def test_slow_measurement_changes_nothing_within_its_round_trip(round_trip_s: float, is_believed: bool) -> None:
    clock, now = DatabaseClock(), monotonic()
    clock.add_measurement(NOON, sent_at=now, received_at=now)
    at = NOON + timedelta(seconds=10 + round_trip_s / 2)

    clock.add_measurement(at, sent_at=now, received_at=now + round_trip_s)

    origin = clock._origin
    assert origin is not None
    assert (origin[0] != NOON) is is_believed
