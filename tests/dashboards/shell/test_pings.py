"""A page's websocket whose browser answers no ping for two minutes ends, and frees its place in the session."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from attestlab_dashboards import server
from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.server import build_application
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import BrowserSessions
from attestlab_dashboards.throttle import Throttle
from support.dashboards.browser_sessions import FACTS, QuietDoor
from support.dashboards.sockets import open_document, request_socket, serve_here
from support.raw_http import RawConnection

CONFIGURATION = Configuration(api_socket="", own_socket="", public_url="", stage="demo", address_requests_per_minute=60)
CLOSE, PING = 8, 9  # kinds of frames (RFC 6455 section 5.2)
REASON_AT = 2  # after the code of a close frame


def test_a_ping_goes_out_and_may_be_answered_within_two_minutes() -> None:
    settings = build_application(CONFIGURATION, BrowserSessions(), Throttle(60)).settings

    assert settings.get("websocket_ping_interval", 0) + settings.get("websocket_ping_timeout", 0) == 120


def test_a_websocket_that_answers_no_ping_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_PING_S", 0.02)
    sessions = BrowserSessions()
    cookie = sessions.begin(cast(PersonalDoor, QuietDoor()), FACTS, address="")
    session = sessions.find(cookie)
    assert session is not None

    async def be_silent() -> list[tuple[int, bytes]]:
        application = build_application(CONFIGURATION, sessions, Throttle(60))
        token = await open_document(application, owner=session.handle, holder=session.handle)
        async with serve_here(application) as url:
            return await asyncio.to_thread(read_until_close, url, token, cookie)

    *before, (_, closing) = asyncio.run(be_silent())

    assert PING in {kind for kind, _ in before}
    assert closing[REASON_AT:] == b"ping timed out"


def read_until_close(url: str, token: str, cookie: str) -> list[tuple[int, bytes]]:
    """Open the websocket, answer nothing, and return the frames up to the one that closes it."""
    with request_socket(url, token, cookie) as connection:
        assert connection.response().status == 101
        frames = [read_frame(connection)]
        while frames[-1][0] != CLOSE:
            frames.append(read_frame(connection))
        return frames


def read_frame(connection: RawConnection) -> tuple[int, bytes]:
    """Read a frame of a server: its kind and its content, which has no mask."""
    first, length = connection.read(2)
    if length >= 126:
        length = int.from_bytes(connection.read(2 if length == 126 else 8))
    return first & 0x0F, connection.read(length)
