"""Turns of bulk work between the requests of a server: it takes the time that no request wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from time import monotonic

PIECE_S = 0.02  # a request waits for one piece at most
QUIET_PIECE_S = 0.06  # when none came for `QUIET_S`: longer pieces cost less for each of their rows
QUIET_S = 0.3
PIECE_IN_TURN_S = 0.002  # while writes of requests wait, because the piece joins their commit
MAX_PAUSE_S = 2.0  # most of a piece that would want more was a wait for the database
GRACE_S = 0.002  # a client that sends its next request as soon as it has an answer needs less
LOOP_TURNS = 4  # in which a request that came to a socket during a piece is read, up to its head


class WaitingRequests:
    """The requests that wait for the event loop or the writer of a server; belongs to one event loop.

    `received` counts all requests so far. A request whose body is on its way, or whose work is in other threads or
    processes, does not wait for either.
    """

    def __init__(self) -> None:
        self.received = 0
        self._waiting = 0
        self._none_waits = asyncio.Event()
        self._none_waits.set()

    @property
    def is_any(self) -> bool:
        """Whether a request waits."""
        return self._waiting > 0

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count a request as waiting."""
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    @contextmanager
    def leave_out(self, *, is_left_out: bool = True) -> Iterator[None]:
        """Leave a counted request out for as long as it waits for something else."""
        change = 1 if is_left_out else 0
        self._change(-change)
        try:
            yield
        finally:
            self._change(change)

    async def wait_until_none(self) -> None:
        """Wait until no request waits, and none came in the `GRACE_S` after that."""
        received = -1
        while self.is_any or received != self.received:
            await self._none_waits.wait()
            received = self.received
            await asyncio.sleep(GRACE_S)

    def _change(self, by: int) -> None:
        self._waiting += by
        if self._waiting:
            self._none_waits.clear()
        else:
            self._none_waits.set()


class BackgroundTurns:
    """Runs bulk work piece by piece, each when no request waits; next to clients that never stop, it has a share.

    After a piece, requests that came during it run first, and those that follow at once. They may keep all bulk work
    together down to `share` of the time, with pauses of at most `MAX_PAUSE_S`, and no further.
    `count_writes` returns the writes that wait for the next commit. An instance belongs to one event loop.
    """

    def __init__(
        self,
        share: float,
        *,
        requests: WaitingRequests,
        count_writes: Callable[[], int],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._pause_per_second = 1 / share - 1
        self._requests, self._count_writes, self._clock = requests, count_writes, clock
        self._one_at_a_time = asyncio.Lock()
        self._received = 0
        self._came_at = clock()  # when the last request was noticed

    @asynccontextmanager
    async def piece(self) -> AsyncIterator[float]:
        """Run one piece of bulk work when no other runs, then let requests run; yields the seconds that it may take."""
        async with self._one_at_a_time:
            self._notice_requests()
            began = self._clock()
            yield self._limit_piece(began)
            took_s = self._clock() - began
            for _ in range(LOOP_TURNS):
                await asyncio.sleep(0)
            if self._notice_requests() or self._requests.is_any:
                await self._let_requests_run(min(took_s * self._pause_per_second, MAX_PAUSE_S))

    def _notice_requests(self) -> bool:
        """Return whether requests came since the last time."""
        if self._requests.received == self._received:
            return False
        self._received, self._came_at = self._requests.received, self._clock()
        return True

    def _limit_piece(self, now: float) -> float:
        if self._count_writes():
            return PIECE_IN_TURN_S
        return QUIET_PIECE_S if now - self._came_at > QUIET_S else PIECE_S

    async def _let_requests_run(self, at_most_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await self._requests.wait_until_none()
