"""Turns: a client whose bytes are always there already does not keep the event loop from the other clients.

Everything runs on one loop, and what the greedy clients send is in the sockets before it runs. So a turn is counted by
what was done for them when the modest client has its answer, not by a clock.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tornado.iostream import IOStream

from attestlab.web.application import Application
from attestlab.web.http1.connection import Connection, Peer, Timeouts
from attestlab.web.http1.request_body import ChunkedBody
from attestlab.web.http1.websockets import relay_bytes
from support.raw_http import get_request
from support.received_pieces import Pieces
from support.sample_application import MANY_PIECES, SampleServices, make_sample_application, make_slot

GREEDY_CLIENTS = 10
REQUESTS = 40  # of a greedy client, all of them there before the first is served
MANY_READS = 300
MAX_TURNS = 12  # of each greedy client, until the modest one has its answer: reading its request takes some
ANSWER = b"HTTP/1.1 200 OK"


@dataclass
class Client:
    """A client of an application on this loop, and the task that serves it."""

    socket: socket.socket
    serving: asyncio.Task[None]

    def count_answers(self) -> int:
        """Count the answers that wait to be read."""
        with suppress(BlockingIOError):
            return self.socket.recv(1 << 20).count(ANSWER)
        return 0


class Clients:
    """The clients of one application."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._connected: list[Client] = []

    def connect(self, sent: bytes) -> Client:
        """Connect a client that has sent these bytes already."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        theirs.send(sent)
        stream = IOStream(ours)
        connection = Connection(self._application, stream, Peer("127.0.0.1"), Timeouts(), make_slot())
        client = Client(theirs, asyncio.get_running_loop().create_task(connection.serve()))
        self._connected.append(client)
        return client

    async def close(self) -> None:
        for client in self._connected:
            client.socket.close()
        await asyncio.gather(*(client.serving for client in self._connected))


async def await_modest_answer(clients: Clients) -> None:
    """Let a client with one request come last, and wait for its answer."""
    modest = clients.connect(get_request("/healthz"))
    answer = await asyncio.get_running_loop().sock_recv(modest.socket, 1 << 16)
    assert answer.startswith(ANSWER)


class EagerStream(IOStream):
    """A stream that never waits: each read finds one byte, each write succeeds; or, if silent, no read finds any."""

    def __init__(self, *, is_silent: bool = False) -> None:
        ours, self._theirs = socket.socketpair()
        self._is_silent = is_silent
        self.reads = 0
        super().__init__(ours)

    def read_from_fd(self, buf: bytearray | memoryview) -> int | None:
        if self._is_silent:
            return None
        self.reads += 1
        if self.reads > MANY_READS:
            return 0
        buf[:1] = b"x"
        return 1

    def write_to_fd(self, data: memoryview) -> int:
        return len(data)

    def close_fd(self) -> None:
        super().close_fd()
        self._theirs.close()


@contextmanager
def application() -> Iterator[tuple[Application, SampleServices]]:
    services = SampleServices()
    made = make_sample_application(services)
    try:
        yield made, services
    finally:
        made.close()
        services.counters.close()


async def count_turns_of_others(work: Coroutine[object, object, object]) -> int:
    """Count how often other tasks of the loop run until some work is done."""
    turns = 0
    working = asyncio.ensure_future(work)
    while not working.done():
        await asyncio.sleep(0)
        turns += 1
    await working
    return turns


def test_ten_greedy_clients_leave_a_modest_one_its_turn() -> None:
    """Each client whose next request was there was answered again and again, before the others."""

    async def story() -> int:
        with application() as (served, _):
            clients = Clients(served)
            greedy = [clients.connect(get_request("/healthz") * REQUESTS) for _ in range(GREEDY_CLIENTS)]
            await await_modest_answer(clients)
            before = sum(each.count_answers() for each in greedy)
            await clients.close()
        return before

    assert asyncio.run(story()) <= GREEDY_CLIENTS * MAX_TURNS < GREEDY_CLIENTS * REQUESTS


def test_a_request_that_came_during_bulk_work_is_answered_before_the_next_piece() -> None:
    """It is in its socket when the piece ends; it waited for several pieces, or the bulk work for its share."""

    async def story() -> list[int]:
        with application() as (served, _):
            clients, answers = Clients(served), []
            for sent in (b"", get_request("/healthz"), get_request("/healthz") * 3):
                async with served.executor.bulk.piece():
                    client = clients.connect(sent)
                answers.append(client.count_answers())
            await clients.close()
        return answers

    assert asyncio.run(story()) == [0, 1, 3]


def test_a_request_that_waits_in_a_thread_or_for_its_body_stops_no_bulk_work() -> None:
    async def story() -> list[bool]:
        with application() as (served, services):
            clients, found = Clients(served), []
            clients.connect(get_request("/v1/wait"))
            clients.connect(b"POST /v1/open/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            while served.executor.requests.received < 2 or served.executor.requests.is_any:
                await asyncio.sleep(0)
            found.append(services.waiting.is_set())
            async with served.executor.bulk.piece():
                found.append(served.executor.requests.is_any)
            services.may_continue.set()
            await clients.close()
        return found

    assert asyncio.run(story()) == [True, False]


def test_a_greedy_reader_of_a_stream_leaves_others_their_turn() -> None:
    async def story() -> int:
        with application() as (served, services):
            clients = Clients(served)
            clients.connect(get_request("/v1/streams/many"))
            await await_modest_answer(clients)
            made = services.pieces_made
            await clients.close()
        return made

    assert asyncio.run(story()) <= MAX_TURNS < MANY_PIECES


def test_a_websocket_that_never_waits_leaves_others_their_turn() -> None:
    async def story() -> int:
        with application() as (served, _):
            clients, source = Clients(served), EagerStream()
            relaying = asyncio.ensure_future(relay_bytes(EagerStream(is_silent=True), source, b"head"))
            await await_modest_answer(clients)
            reads = source.reads
            await relaying
            await clients.close()
        return reads

    assert asyncio.run(story()) <= MAX_TURNS < MANY_READS


def test_a_request_that_comes_byte_by_byte_leaves_others_their_turn() -> None:
    """A sender that is as quick as the server has its next byte there whenever the server looks."""

    async def story() -> int:
        with application() as (served, _):
            clients, stream = Clients(served), EagerStream()
            connection = Connection(served, stream, Peer("127.0.0.1"), Timeouts(), make_slot())
            serving = asyncio.ensure_future(connection.serve())
            await await_modest_answer(clients)
            reads = stream.reads
            await serving
            await clients.close()
        return reads

    assert asyncio.run(story()) <= 5 * MAX_TURNS < MANY_READS


def test_tiny_chunks_and_trailers_leave_others_their_turn() -> None:
    """A piece that is read at once has thousands of them, of 4 microseconds each."""
    chunks, trailers = b"1\r\nx\r\n" * 5_000, b"A: b\r\n" * 5_000

    async def read(sent: bytes) -> None:
        body = ChunkedBody(Pieces(sent))
        while await body.read_chunk():
            pass

    async def story() -> list[int]:
        return [
            await count_turns_of_others(read(sent))
            for sent in (b"1\r\nx\r\n0\r\n\r\n", chunks + b"0\r\n\r\n", b"0\r\n" + trailers + b"\r\n")
        ]

    few, of_chunks, of_trailers = asyncio.run(story())
    assert (few <= 2, of_chunks >= 20, of_trailers >= 15) == (True, True, True)
