"""Disconnect detection: a route detects that its client disconnected; connected clients are not affected."""

import asyncio
import socket
from collections.abc import Callable, Iterator

import pytest
from tornado.iostream import IOStream

from attestlab.web.http1.connection import Connection, Peer, Timeouts
from support.raw_http import RawConnection, get_request
from support.sample_application import SampleServer, make_sample_application, make_slot, serve_sample_application
from support.timeouts import WAIT_TIMEOUT_S

RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"


@pytest.fixture
def fresh() -> Iterator[SampleServer]:
    """A separate server, because its events can be set only once."""
    with serve_sample_application() as server:
        yield server


def close(wire: RawConnection) -> None:
    wire.socket.close()


def reset(wire: RawConnection) -> None:
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    wire.socket.close()


def end_sending(wire: RawConnection) -> None:
    wire.socket.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("leave", [close, reset, end_sending])
@pytest.mark.parametrize("before", [b"", get_request("/healthz")], ids=["its first request", "a later one"])
def test_a_route_detects_that_its_client_disconnected(
    fresh: SampleServer, leave: Callable[[RawConnection], None], before: bytes
) -> None:
    with fresh.connect() as wire:
        if before:
            assert wire.send(before).response().status == 200
        wire.send(get_request("/v1/watched"))
        assert fresh.lab.waiting.wait(WAIT_TIMEOUT_S)
        assert not fresh.lab.gone.is_set()
        leave(wire)

        assert fresh.lab.gone.wait(WAIT_TIMEOUT_S)


def test_pipelined_requests_are_answered_in_order(fresh: SampleServer) -> None:
    """Both requests that arrived with the first one, and requests that arrived during its work."""
    with fresh.connect() as wire:
        wire.send(get_request("/v1/watched") + get_request("/tile/1/with"))
        assert fresh.lab.waiting.wait(WAIT_TIMEOUT_S)
        wire.send(get_request("/tile/2/between")[:20])
        fresh.lab.may_continue.set()
        first, second = wire.response(), wire.response()
        wire.send(get_request("/tile/2/between")[20:])
        third = wire.response()

        assert b"watched" in first.body
        assert (second.body, third.body) == (b"1:with", b"2:between")
        assert not fresh.lab.gone.is_set()


def test_an_earlier_disconnect_is_reported_immediately() -> None:
    async def reported() -> list[str]:
        ours, theirs = socket.socketpair()
        stream, found = IOStream(ours), list[str]()
        connection = Connection(make_sample_application(), stream, Peer("127.0.0.1"), Timeouts(), make_slot())
        theirs.close()
        await connection.serve()
        connection.on_disconnect(lambda: found.append("gone"))
        return found

    assert asyncio.run(reported()) == ["gone"]
