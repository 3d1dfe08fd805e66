"""The rate limit of requests without a session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attestlab.core.clock import FixedClock
from attestlab_dashboards.sessions import BrowserSession, BrowserSessions
from attestlab_dashboards.throttle import Throttle
from support.dashboards.browser_sessions import Door, begin


def test_an_address_has_a_bucket_of_its_own_that_refills() -> None:
    clock = FixedClock(datetime(2026, 11, 2, tzinfo=UTC))
    throttle = Throttle(60, clock)

    assert [throttle.take("203.0.113.9") for _ in range(10)] == [0.0] * 10
    assert throttle.take("203.0.113.9") == 1.0
    assert throttle.take("203.0.113.10") == 0.0
    clock.advance(timedelta(seconds=1))
    throttle.forget_full_buckets()
    assert throttle.take("203.0.113.9") == 0.0
    assert throttle.take("203.0.113.9") == 1.0


def test_the_addresses_of_one_network_share_a_bucket() -> None:
    throttle = Throttle(60, FixedClock(datetime(2026, 11, 2, tzinfo=UTC)))

    assert [throttle.take(f"2001:db8::{number}") for number in range(10)] == [0.0] * 10
    assert throttle.take("2001:db8::ffff") > 0


def test_a_session_opens_60_pages_a_minute_and_20_at_once() -> None:
    clock = FixedClock(datetime(2026, 11, 2, tzinfo=UTC))
    throttle, (session, other) = Throttle(60, clock), begin_sessions(2)

    assert [throttle.take_page(session) for _ in range(20)] == [0.0] * 20
    assert throttle.take_page(session) == 1.0
    assert throttle.take_page(other) == 0.0
    clock.advance(timedelta(seconds=1))
    assert [throttle.take_page(session) for _ in range(2)] == [0.0, 1.0]


def test_the_sessions_of_a_tenant_open_300_pages_a_minute() -> None:
    throttle = Throttle(60, FixedClock(datetime(2026, 11, 2, tzinfo=UTC)))

    taken = [throttle.take_page(session) for session in begin_sessions(6) for _ in range(20)]
    assert [taken.count(0.0), taken[:100].count(0.0)] == [100, 100]


def begin_sessions(count: int) -> list[BrowserSession]:
    sessions = BrowserSessions()
    return [begin(sessions, Door()) for _ in range(count)]
