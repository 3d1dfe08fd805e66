"""When browser sessions end: at a revocation, which open pages notice within a minute, and after hours without use."""

from __future__ import annotations

import asyncio

from attestlab_dashboards.sessions import CHECK_INTERVAL_S, IDLE_S, BrowserSessions
from support.dashboards.browser_sessions import Door, begin

MAX_ANSWER_S = 30.0  # of the service to one check, far above its usual time


class Window:
    """An open page, which notes that its session ended."""

    def __init__(self) -> None:
        self.ended = False

    def end(self) -> None:
        self.ended = True


def test_a_check_ends_the_sessions_that_the_service_refuses_with_all_their_pages() -> None:
    sessions, doors, windows = BrowserSessions(), [Door(), Door()], [Window(), Window(), Window()]
    kept, revoked = (begin(sessions, door) for door in doors)
    kept.views.add(windows[0])
    revoked.views.update(windows[1:])
    doors[1].accepted = False

    asyncio.run(sessions.check())

    assert [window.ended for window in windows] == [False, True, True]
    assert [door.closed for door in doors] == [False, True]
    assert sessions.get(revoked.handle) is None
    assert sessions.get(kept.handle) is kept


def test_a_revocation_is_noticed_within_a_minute() -> None:
    assert CHECK_INTERVAL_S + MAX_ANSWER_S <= 60


def test_a_session_without_an_open_page_ends_after_hours_and_one_with_a_page_does_not() -> None:
    clock = [0.0]
    sessions = BrowserSessions(now=lambda: clock[0])
    unused, used = begin(sessions, Door()), begin(sessions, Door())
    used.views.add(Window())
    clock[0] = IDLE_S + 1

    asyncio.run(sessions.check())

    assert sessions.get(unused.handle) is None
    assert sessions.get(used.handle) is used
