"""When browser sessions end: at a revocation, which open pages notice within a minute, and after hours without use."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from attestlab.core.errors import AttestLabError, AuthInvalid, Unavailable
from attestlab_dashboards.cookies import CookieSeal
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import CHECK_INTERVAL_S, IDLE_S, BrowserSessions, read_or_close
from support.dashboards.browser_sessions import FACTS, Door, begin

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
    sessions, door = BrowserSessions(now=lambda: clock[0]), Door()
    unused, used = begin(sessions, door), begin(sessions, Door())
    used.views.add(Window())
    clock[0] = IDLE_S + 1

    asyncio.run(sessions.check())

    assert sessions.get(unused.handle) is None
    assert door.signed_out, "the cookie would open it again"
    assert sessions.get(used.handle) is used


class Service:
    """The service as a process of the dashboards asks it: opens the doors of tokens, or fails."""

    def __init__(self, error: AttestLabError | None = None) -> None:
        self.error = error
        self.asked: list[str] = []

    def open_door(self, refresh_token: str, /, *, address: str) -> PersonalDoor:
        self.asked.append(refresh_token)
        if self.error is not None:
            raise self.error
        return cast(PersonalDoor, OpenedDoor())


class OpenedDoor(Door):
    def read_facts(self) -> Facts:
        return FACTS


SEAL = CookieSeal(bytes(32))


def begin_elsewhere() -> str:
    """The cookie of a session that an earlier process of the dashboards began."""
    return BrowserSessions(seal=SEAL).begin(cast(PersonalDoor, Door()), FACTS, address="127.0.0.1")


async def reopen(sessions: BrowserSessions, *cookies: str) -> None:
    await asyncio.gather(*(sessions.reopen(cookie, address="127.0.0.1") for cookie in cookies))


def test_the_session_of_an_earlier_process_is_opened_again_once_for_all_who_wait() -> None:
    service, cookie = Service(), begin_elsewhere()
    sessions = BrowserSessions(seal=SEAL, open_door=service.open_door)

    asyncio.run(reopen(sessions, cookie, cookie, cookie))
    asyncio.run(reopen(sessions, cookie))

    assert service.asked == ["rt_of_this_door"]
    assert (session := sessions.find(cookie)) is not None
    assert session.facts == FACTS


def test_a_cookie_of_another_key_or_of_no_session_asks_the_service_nothing() -> None:
    service = Service()
    sessions = BrowserSessions(seal=CookieSeal(bytes([1] * 32)), open_door=service.open_door)

    asyncio.run(reopen(sessions, begin_elsewhere(), "", "x" * 60, "é" * 60))

    assert (service.asked, len(sessions)) == ([], 0)


def test_the_service_is_asked_once_about_a_session_that_it_refused_but_again_after_an_outage() -> None:
    cookie = begin_elsewhere()
    for error, asked in ((AuthInvalid(), 1), (Unavailable("away"), 2)):
        service = Service(error)
        sessions = BrowserSessions(seal=SEAL, open_door=service.open_door)
        for _ in range(2):
            asyncio.run(reopen(sessions, cookie))
        assert (len(service.asked), sessions.find(cookie)) == (asked, None)


@pytest.mark.parametrize("error", [Unavailable("away"), AuthInvalid(), RuntimeError("a mistake of ours")])
def test_a_door_whose_facts_cannot_be_read_is_closed(error: Exception) -> None:
    class Failing(Door):
        def read_facts(self) -> Facts:
            raise error

    door = Failing()
    with pytest.raises(type(error)):
        read_or_close(cast(PersonalDoor, door))

    assert door.closed


def test_a_session_that_ended_here_for_good_is_not_opened_again() -> None:
    service = Service()
    sessions = BrowserSessions(seal=SEAL, open_door=service.open_door)
    cookie = sessions.begin(cast(PersonalDoor, Door()), FACTS, address="127.0.0.1")
    session = sessions.find(cookie)
    assert session is not None
    sessions.end(session, is_final=True)

    asyncio.run(reopen(sessions, cookie))

    assert (service.asked, sessions.find(cookie)) == ([], None)
