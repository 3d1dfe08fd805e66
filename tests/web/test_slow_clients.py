"""Timeouts: no client is awaited indefinitely, and a disconnected client leaves nothing behind."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator

import pytest
from tornado.iostream import IOStream

from attestlab.web.http1.connection import Connection, Peer, Timeouts
from support import patient_http
from support.raw_http import RawConnection, get_request, post_request
from support.sample_application import SampleServer, make_sample_application, serve_sample_application

IMPATIENT = Timeouts(idle_s=0.6, head_s=0.6, body_s=0.6, write_s=0.6, linger_s=0.6)
TOO_LONG_S = 60.0


def slow(wire: RawConnection, data: bytes) -> float:
    """Sends a byte at a time until the server closes; returns the seconds that took."""
    began = time.monotonic()
    wire.socket.settimeout(0.05)
    for byte in data * 1000:
        try:
            wire.send(bytes([byte]))
            if wire.socket.recv(1) == b"":
                break
        except TimeoutError:
            pass
        except ConnectionError:
            break
        if time.monotonic() - began > TOO_LONG_S:
            break
    return time.monotonic() - began


@pytest.fixture(scope="module")
def impatient() -> Iterator[SampleServer]:
    with serve_sample_application(timeouts=IMPATIENT) as server:
        yield server


def test_a_slow_head_times_out(impatient: SampleServer) -> None:
    with impatient.connect() as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        assert 0.3 < slow(wire, b"x") < TOO_LONG_S


@pytest.mark.parametrize("path", ["/v1/notes", "/v1/files"])
def test_a_slow_body_times_out(impatient: SampleServer, path: str) -> None:
    with impatient.connect() as wire:
        wire.send(post_request(path, length=100_000))
        assert 0.3 < slow(wire, b" ") < TOO_LONG_S


def test_slow_chunks_time_out(impatient: SampleServer) -> None:
    with impatient.connect() as wire:
        wire.send(post_request("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        assert 0.3 < slow(wire, b"1\r\n \r\n") < TOO_LONG_S


def test_an_idle_client_is_disconnected(impatient: SampleServer) -> None:
    with impatient.connect() as fresh, impatient.connect() as used:
        used.send(get_request("/healthz")).response()

        assert used.ended()
        assert fresh.ended()


def test_a_client_that_does_not_read_its_response_is_disconnected(impatient: SampleServer) -> None:
    """Responses fill the socket's buffers, and then the write times out."""
    with impatient.connect() as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.socket.settimeout(TOO_LONG_S)
        note = json.dumps({"text": "x" * 100_000}).encode()
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                wire.send(post_request("/v1/notes", note))


def test_slow_server_work_does_not_time_out_the_client(impatient: SampleServer) -> None:
    """Only the time that the server waits for the client counts."""
    with impatient.connect() as wire:
        wire.send(get_request("/v1/wait"))
        time.sleep(1.5)
        impatient.lab.may_continue.set()
        assert wire.response().status == 200


def test_a_steady_body_may_take_longer_than_a_stalled_one(impatient: SampleServer) -> None:
    body = b'{"text":"a"' + b" " * 500_000 + b"}"

    with impatient.connect() as wire:
        wire.send(post_request("/v1/notes", length=len(body)))
        for at in range(0, len(body), 50_000):
            wire.send(body[at : at + 50_000])
            time.sleep(0.12)
        assert wire.response().status == 201


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /heal",
        post_request("/v1/notes", length=50),
        post_request("/v1/files", b'{"payload_b64url":"' + b"QUJD" * 300_000, length=50_000_000),
    ],
    ids=["in its head", "before its body", "in its payload"],
)
def test_a_disconnected_client_leaves_no_connection_behind(sample: SampleServer, sent: bytes) -> None:
    with sample.connect() as wire:
        wire.send(sent)
    given_up_at = time.monotonic() + TOO_LONG_S
    while sample.server.open_connections and time.monotonic() < given_up_at:
        time.sleep(0.01)

    assert sample.server.open_connections == 0


def test_a_client_that_disconnects_early_affects_no_other(sample: SampleServer) -> None:
    with sample.connect() as wire:
        wire.send(get_request("/v1/wait"))
        assert sample.lab.waiting.wait(TOO_LONG_S)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    sample.lab.may_continue.set()

    assert patient_http.get(f"{sample.url}/healthz").status_code == 200


def test_a_fast_sender_does_not_delay_other_clients() -> None:
    """Without a yield, bytes that have already arrived could be read without a pause."""

    async def turns_of_others() -> int:
        ours, theirs = socket.socketpair()
        stream = IOStream(ours)
        connection = Connection(make_sample_application(), stream, Peer("127.0.0.1"), Timeouts())
        turns = 0

        async def other() -> None:
            nonlocal turns
            while not stream.closed():
                turns += 1
                await asyncio.sleep(0)

        waiting = asyncio.create_task(other())
        for _ in range(100):
            theirs.send(b" " * 30_000)
            await connection.read_more()
            connection.buffer.clear()
        stream.close()
        theirs.close()
        await waiting
        return turns

    assert asyncio.run(turns_of_others()) > 5
