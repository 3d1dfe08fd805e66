"""Threads that many owners share fairly: each owner runs one piece of work at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class _Turn:
    """The queue of one owner; `users` run or wait."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class FairThreads:
    """A thread pool in which no owner holds more than one thread.

    Work of one owner waits in order of arrival, so the pool's own queue holds at most one piece of each owner, and an
    owner who sends much delays only itself. Belongs to one event loop.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._turns: dict[str, _Turn] = {}

    async def run(self, owner: str, function: Callable[..., Result], *arguments: object) -> Result:
        """Run `function` in a thread once all that `owner` handed in before is done."""
        turn = self._turns.setdefault(owner, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[owner]

    def close(self) -> None:
        """End the threads; work that has begun is finished."""
        self._pool.shutdown(wait=False)
