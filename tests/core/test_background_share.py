"""Bulk work next to requests: pauses after pieces during which clients sent requests, and none otherwise."""

from __future__ import annotations

import asyncio

import pytest

from attestlab.core.limits.background_share import MAX_PAUSE_S, BackgroundShare


class Server:
    """The time and requests of a server, as bulk work sees them; it sleeps without waiting."""

    def __init__(self) -> None:
        self.now = 100.0
        self.requests = 0
        self.pauses: list[float] = []
        self.share = BackgroundShare(
            0.2, count_requests=lambda: self.requests, clock=lambda: self.now, sleep=self._sleep
        )

    async def work(self, seconds: float, *, requests: int = 0) -> None:
        async with self.share.piece():
            self.now += seconds
            self.requests += requests

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def server() -> Server:
    return Server()


def test_bulk_work_without_requests_never_pauses(server: Server) -> None:
    server.requests = 7  # received before

    for _ in range(3):
        asyncio.run(server.work(0.5))

    assert server.pauses == []


def test_bulk_work_next_to_requests_takes_its_share_of_the_time(server: Server) -> None:
    began = server.now

    for seconds in (0.01, 0.5, 0.04):
        asyncio.run(server.work(seconds, requests=1))

    assert server.pauses == pytest.approx([0.04, 2.0, 0.16])
    assert 0.55 / (server.now - began) == pytest.approx(0.2)


def test_piece_that_waited_for_the_database_has_a_bounded_pause(server: Server) -> None:
    asyncio.run(server.work(6, requests=1))

    assert server.pauses == [MAX_PAUSE_S]


def test_bulk_works_share_the_time_instead_of_multiplying_it(server: Server) -> None:
    overlapping = 0

    async def work() -> None:
        nonlocal overlapping
        async with server.share.piece():
            overlapping += 1
            assert overlapping == 1
            await asyncio.sleep(0)
            overlapping -= 1

    async def work_at_once() -> None:
        await asyncio.gather(*[work() for _ in range(3)])

    asyncio.run(work_at_once())


def test_failed_piece_lets_the_next_one_run(server: Server) -> None:
    async def fail() -> None:
        async with server.share.piece():
            raise ValueError("a damaged line")

    with pytest.raises(ValueError, match="damaged"):
        asyncio.run(fail())
    asyncio.run(server.work(0.1))
