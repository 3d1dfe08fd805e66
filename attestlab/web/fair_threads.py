"""A thread pool that many owners share fairly: each owner runs one task at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class _Turn:
    """The queue of one owner; `users` counts its running and waiting tasks."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class FairThreads:
    """A thread pool in which no owner occupies more than one thread.

    An owner's tasks wait in order of arrival, so the pool's own queue holds at most one task of each owner, and an
    owner that submits many tasks delays only itself. Belongs to one event loop.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._turns: dict[str, _Turn] = {}

    async def run(self, owner: str, function: Callable[..., Result], *arguments: object) -> Result:
        """Run `function` in a thread after all earlier tasks of `owner` have finished."""
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
        """Shut down the pool; running tasks finish."""
        self._pool.shutdown(wait=False)
