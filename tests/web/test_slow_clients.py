"""Timeouts: no client is awaited indefinitely, and a disconnected client leaves nothing behind."""

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tornado.iostream import IOStream

from attestlab.web.http1.connection import Connection, Peer, Timeouts
from support import patient_http
from support.in_process_server import wait_until
from support.raw_http import get_request, post_request
from support.sample_application import SampleServer, make_sample_application, make_slot, serve_sample_application
from support.timeouts import WAIT_TIMEOUT_S

TIMEOUT_S = 0.6
IMPATIENT = Timeouts(idle_s=TIMEOUT_S, head_s=TIMEOUT_S, body_s=TIMEOUT_S, write_s=TIMEOUT_S, linger_s=TIMEOUT_S)
BODY_PIECE = b"QUJD" * (1 << 20)  # at 32 KiB a second, each allows the client two more minutes


def send_slowly(server: SampleServer, beginning: bytes, data: bytes) -> float:
    """Send `beginning`, then a byte of `data` at a time until the server closes; return the seconds that took."""
    began = time.monotonic()
    with server.connect() as wire:
        wire.send(beginning)
        wire.socket.settimeout(0.05)
        for byte in itertools.cycle(data):
            try:
                wire.send(bytes([byte]))
                if wire.socket.recv(1) == b"":
                    break
            except TimeoutError:
                assert time.monotonic() - began < WAIT_TIMEOUT_S, "the server waits for a slow client"
            except ConnectionError:
                break
    return time.monotonic() - began


@contextmanager
def held(server: SampleServer) -> Iterator[None]:
    """Hold the server's event loop, so that it meets at once what a client does in the block."""
    release = threading.Event()
    server.loop.call_soon_threadsafe(release.wait, WAIT_TIMEOUT_S)
    try:
        yield
    finally:
        release.set()


@pytest.fixture(scope="module")
def impatient() -> Iterator[SampleServer]:
    with serve_sample_application(timeouts=IMPATIENT) as server:
        yield server


def test_a_slow_head_times_out(impatient: SampleServer) -> None:
    assert send_slowly(impatient, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"x") >= TIMEOUT_S


@pytest.mark.parametrize("path", ["/v1/notes", "/v1/files"])
def test_a_slow_body_times_out(impatient: SampleServer, path: str) -> None:
    assert send_slowly(impatient, post_request(path, length=100_000), b" ") >= TIMEOUT_S


def test_slow_chunks_time_out(impatient: SampleServer) -> None:
    beginning = post_request("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")

    assert send_slowly(impatient, beginning, b"1\r\n \r\n") >= TIMEOUT_S


def test_an_idle_client_is_disconnected(impatient: SampleServer) -> None:
    with ExitStack() as stack:
        with held(impatient):
            fresh, used = (stack.enter_context(impatient.connect()) for _ in range(2))
            used.send(get_request("/healthz"))
        used.response()

        assert used.ended()
        assert fresh.ended()


def test_a_client_that_does_not_read_its_response_is_disconnected(impatient: SampleServer) -> None:
    """Responses fill the socket's buffers, and then the write times out."""
    with impatient.connect() as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        note = json.dumps({"text": "x" * 100_000}).encode()
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                wire.send(post_request("/v1/notes", note))


def test_slow_server_work_does_not_time_out_the_client(impatient: SampleServer) -> None:
    """Only the time that the server waits for the client counts."""
    with ExitStack() as stack:
        with held(impatient):
            wire = stack.enter_context(impatient.connect()).send(get_request("/v1/wait"))
        time.sleep(2.5 * TIMEOUT_S)
        impatient.lab.may_continue.set()
        assert wire.response().status == 200


def test_a_steady_body_may_take_longer_than_a_stalled_one() -> None:
    """The head comes together with a piece, so the client may be slow between any two of its steps."""
    pieces = [b'{"payload_b64url":"' + BODY_PIECE, BODY_PIECE, BODY_PIECE, b'"}']
    head = post_request("/v1/files", length=sum(map(len, pieces)))

    with serve_sample_application(timeouts=Timeouts(body_s=TIMEOUT_S)) as server, server.connect() as wire:
        for piece in (head + pieces[0], *pieces[1:]):
            wire.send(piece)
            time.sleep(TIMEOUT_S)
        assert wire.response().status == 200


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

    wait_until(lambda: sample.server.open_connections, 0)


def test_a_client_that_disconnects_early_affects_no_other(sample: SampleServer) -> None:
    with sample.connect() as wire:
        wire.send(get_request("/v1/wait"))
        assert sample.lab.waiting.wait(WAIT_TIMEOUT_S)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    sample.lab.may_continue.set()

    assert patient_http.get(f"{sample.url}/healthz").status_code == 200


def test_a_fast_sender_does_not_delay_other_clients() -> None:
    """Without a yield, bytes that have already arrived could be read without a pause."""

    async def turns_of_others() -> int:
        ours, theirs = socket.socketpair()
        stream = IOStream(ours)
        connection = Connection(make_sample_application(), stream, Peer("127.0.0.1"), Timeouts(), make_slot())
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
