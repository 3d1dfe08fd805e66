"""A connection becomes a websocket's after a complete handshake and the other process's 101, and by nothing else."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tornado.iostream import IOStream

from attestlab.web.http1 import forwarding, websockets
from attestlab.web.http1.acceptor import ConnectionLimits
from attestlab.web.http1.connection import Timeouts
from support.forwarded_site import connect_to, serve_site, serve_upstream
from support.in_process_server import wait_until
from support.raw_http import get_request
from support.sample_application import SampleServer
from support.timeouts import WAIT_TIMEOUT_S

HANDSHAKE = {
    "Host": "test",
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
INCOMPLETE = {
    "no key": {"Sec-WebSocket-Key": ""},
    "a short key": {"Sec-WebSocket-Key": "AAAA"},
    "no base64": {"Sec-WebSocket-Key": "!" * 24},
    "no version": {"Sec-WebSocket-Version": ""},
    "another version": {"Sec-WebSocket-Version": "8"},
    "not connected": {"Connection": "keep-alive"},
    "h2c": {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABkAAQAAP__"},
    "a body": {"Content-Length": "2"},
}
CLAIM = get_request("/dash/echo", extra="X-Forwarded-For: 203.0.113.9\r\n")


def ask(path: str, *, method: str = "GET", **changes: str) -> bytes:
    """A handshake with changed fields; an empty value leaves a field out."""
    fields = {name: value for name, value in (HANDSHAKE | changes).items() if value}
    body = "{}" if "Content-Length" in changes else ""
    return "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in fields.items()), "", body]).encode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleServer]:
    path = tmp_path_factory.mktemp("upstream") / "own.sock"
    with serve_upstream(path), serve_site(connect_to(path)) as server:
        yield server


@pytest.mark.parametrize("changes", INCOMPLETE.values(), ids=INCOMPLETE)
def test_an_incomplete_handshake_is_an_ordinary_request(site: SampleServer, changes: dict[str, str]) -> None:
    """The connection became a pipe, through which the next request could claim any address."""
    with site.connect() as connection:
        connection.send(ask("/dash/echo", **changes) + CLAIM)
        answers = [connection.response() for _ in range(2)]

    shown = [json.loads(answer.body) for answer in answers]
    assert [answer.status for answer in answers] == [200, 200]
    assert [each["address"] for each in shown] == ["127.0.0.1"] * 2
    assert "Upgrade" not in shown[0]["headers"]


@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_another_method_opens_no_websocket(site: SampleServer, method: str) -> None:
    with site.connect() as connection:
        connection.send(ask("/dash/talk", method=method) + CLAIM)
        assert connection.response(without_body=method == "HEAD").status in (400, 405)
        assert json.loads(connection.response().body)["address"] == "127.0.0.1"


def test_a_handshake_that_is_refused_leads_nowhere(site: SampleServer) -> None:
    """What the client had sent after it is no request of the other process."""
    with site.connect() as connection:
        connection.send(ask("/dash/echo") + CLAIM)
        assert json.loads(connection.response().body)["address"] == "127.0.0.1"
        assert connection.ended()


def test_what_a_client_sends_early_is_part_of_the_websocket(site: SampleServer) -> None:
    frame = b"\x81\x85\x00\x00\x00\x00hello"
    with site.connect() as connection:
        connection.send(ask("/dash/talk") + frame)
        assert connection.response(without_body=True).status == 101
        assert connection.read(7) == b"\x81\x05hello"


def test_open_websockets_do_not_count_against_their_address(site: SampleServer) -> None:
    before = site.server.open_connections
    with ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(site.connect()).send(ask("/dash/talk"))
            assert connection.response(without_body=True).status == 101
        assert site.server.open_connections == before + 3
        assert not site.server._limits._open
    wait_until(lambda: site.server.open_connections, before)


async def never() -> IOStream:
    await asyncio.sleep(WAIT_TIMEOUT_S)
    raise AssertionError("the handshake had no end")


def test_an_address_has_few_handshakes_at_once_and_each_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websockets, "MAX_HANDSHAKES", 2)
    monkeypatch.setattr(forwarding, "HANDSHAKE_S", 0.5)
    with serve_site(never) as server, ExitStack() as stack:
        waiting = [stack.enter_context(server.connect()).send(ask("/dash/talk")) for _ in range(2)]
        wait_until(lambda: server.server.open_connections, 2)
        third = stack.enter_context(server.connect()).send(ask("/dash/talk")).response()
        slow = [connection.response() for connection in waiting]
        after = stack.enter_context(server.connect()).send(ask("/dash/talk")).response()

    assert (third.status, third.body.decode().partition(" ")[0]) == (503, "64")
    assert [(answer.status, answer.headers["retry-after"]) for answer in [*slow, after]] == [(503, "2")] * 3
    assert b"was not opened within" in slow[0].body
    assert b"was not opened within" in after.body


def test_a_client_that_does_not_read_a_forwarded_response_is_disconnected(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("slow") / "own.sock"
    patience = Timeouts(write_s=0.6)
    with (
        serve_upstream(path),
        serve_site(connect_to(path), timeouts=patience) as server,
        server.connect() as connection,
    ):
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send(get_request("/dash/slowly?times=30"))
        wait_until(lambda: server.server.open_connections, 1)
        wait_until(lambda: server.server.open_connections, 0)


def test_the_dashboards_leave_a_quarter_of_all_connections() -> None:
    with serve_site(never, limits=ConnectionLimits(total=8, per_address=9)) as server, ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(server.connect()).send(get_request("/dash/echo"))
        wait_until(lambda: server.server._limits._delegated, 6)
        with server.connect() as seventh:
            refused = seventh.send(get_request("/dash/echo")).response()
        with server.connect() as another:
            assert another.send(get_request("/healthz")).response().status == 200

    assert (refused.status, refused.headers["retry-after"]) == (503, "5")
