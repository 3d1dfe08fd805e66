"""Bulk work next to requests: it stops for those that wait, not for a while after one came, and is never starved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from attestlab.core.limits.background_turns import (
    GRACE_S,
    MAX_PAUSE_S,
    PIECE_IN_TURN_S,
    PIECE_S,
    QUIET_PIECE_S,
    QUIET_S,
    BackgroundTurns,
    WaitingRequests,
)
from support.hand_clock import SkippingLoop

AT_ONCE_S = 0.5 * GRACE_S  # after an answer, the next request of a client that never stops


class Server:
    """The time and requests of a server, as bulk work sees them; no test waits for its time."""

    def __init__(self) -> None:
        self.loop = SkippingLoop()
        self.requests = WaitingRequests()
        self.queued_writes = 0
        self.turns = BackgroundTurns(
            0.2, requests=self.requests, count_writes=lambda: self.queued_writes, clock=self.loop.time
        )

    def run(self, story: Callable[[], Awaitable[Any]]) -> Any:
        """Let a story happen on the server's loop."""

        async def await_story() -> Any:
            return await story()

        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            return runner.run(await_story())

    async def work(self, seconds: float, *, request: Callable[[], Awaitable[None]] | None = None) -> float:
        """Run a piece, during which a request may come; returns how long the pause after it was."""
        async with self.turns.piece():
            self.loop.now_s += seconds
            answering = None if request is None else asyncio.ensure_future(request())
            ended_s = self.loop.now_s
        if answering is not None:
            answering.cancel()
        return self.loop.now_s - ended_s

    async def answer(self, *, within_s: float = 0.0) -> None:
        """Answer a request, which waits for so long."""
        self.requests.received += 1
        with self.requests.count():
            await asyncio.sleep(within_s)

    async def answer_for_ever(self) -> None:
        """Answer a client that sends its next request as soon as it has an answer."""
        while True:
            await self.answer(within_s=0.001)
            await asyncio.sleep(AT_ONCE_S)


@pytest.fixture
def server() -> Server:
    return Server()


def test_bulk_work_without_requests_never_pauses(server: Server) -> None:
    server.requests.received = 7  # before

    async def story() -> list[float]:
        return [await server.work(0.5) for _ in range(3)]

    assert server.run(story) == [0, 0, 0]


def test_bulk_work_goes_on_as_soon_as_the_request_that_came_is_answered(server: Server) -> None:
    """It paused for four times as long as the piece had taken, and left the server idle."""

    async def story() -> list[float]:
        return [await server.work(0.5, request=lambda: server.answer(within_s=0.01)) for _ in range(3)]

    assert server.run(story) == pytest.approx([0.01 + GRACE_S] * 3)


def test_a_request_that_waits_for_something_else_stops_no_bulk_work(server: Server) -> None:
    async def upload() -> None:
        with server.requests.count(), server.requests.leave_out():
            await asyncio.sleep(10)

    async def story() -> float:
        uploading = asyncio.ensure_future(upload())
        pause_s = await server.work(0.5)
        assert not uploading.done()
        uploading.cancel()
        return pause_s

    assert server.run(story) == 0


def test_clients_that_never_stop_leave_bulk_work_its_share_of_the_time(server: Server) -> None:
    async def story() -> list[float]:
        return [await server.work(seconds, request=server.answer_for_ever) for seconds in (0.01, 0.04, 0.25)]

    pauses = server.run(story)
    assert pauses == pytest.approx([0.04, 0.16, 1.0], rel=0.05)
    assert 0.3 / (0.3 + sum(pauses)) == pytest.approx(0.2, rel=0.05)


def test_piece_that_waited_for_the_database_has_a_bounded_pause(server: Server) -> None:
    async def story() -> float:
        return await server.work(6, request=server.answer_for_ever)

    assert server.run(story) == pytest.approx(MAX_PAUSE_S)


def test_a_piece_is_short_while_others_are_there(server: Server) -> None:
    async def limit() -> float:
        async with server.turns.piece() as time_s:
            return time_s

    async def story() -> list[float]:
        server.loop.now_s += 2 * QUIET_S
        quiet = await limit()
        await server.work(0.01, request=server.answer)
        lately = await limit()
        server.loop.now_s += 2 * QUIET_S
        quiet_again = await limit()
        server.requests.received += 1  # since then
        of_late = await limit()
        server.queued_writes = 1
        return [quiet, lately, quiet_again, of_late, await limit()]

    assert server.run(story) == [QUIET_PIECE_S, PIECE_S, QUIET_PIECE_S, PIECE_S, PIECE_IN_TURN_S]


def test_bulk_works_share_the_time_instead_of_multiplying_it(server: Server) -> None:
    overlapping = 0

    async def work() -> None:
        nonlocal overlapping
        async with server.turns.piece():
            overlapping += 1
            assert overlapping == 1
            await asyncio.sleep(0)
            overlapping -= 1

    async def story() -> None:
        await asyncio.gather(*[work() for _ in range(3)])

    server.run(story)


def test_failed_piece_lets_the_next_one_run(server: Server) -> None:
    async def fail() -> None:
        async with server.turns.piece():
            raise ValueError("a damaged line")

    async def story() -> float:
        with pytest.raises(ValueError, match="damaged"):
            await fail()
        return await server.work(0.1)

    assert server.run(story) == 0
