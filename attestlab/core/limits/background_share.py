"""The share of a server's time that bulk work takes while clients send other requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

MAX_PAUSE_S = 2.0  # most of a piece that would want more was a wait for the database


class BackgroundShare:
    """Pauses bulk work after each piece during which clients sent requests; without requests it runs at full speed.

    The pause, at most `MAX_PAUSE_S`, is so long that all bulk work together takes at most `share` of the time;
    `count_requests` returns the requests received so far. An instance belongs to one event loop.
    """

    def __init__(
        self,
        share: float,
        *,
        count_requests: Callable[[], int],
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._pause_per_second = 1 / share - 1
        self._count_requests = count_requests
        self._clock, self._sleep = clock, sleep
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def piece(self) -> AsyncIterator[None]:
        """Run one piece of bulk work when no other runs, and pause after it if clients sent requests during it."""
        async with self._one_at_a_time:
            before, began = self._count_requests(), self._clock()
            yield
            if self._count_requests() != before:
                await self._sleep(min((self._clock() - began) * self._pause_per_second, MAX_PAUSE_S))
