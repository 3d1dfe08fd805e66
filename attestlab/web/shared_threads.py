"""Thread pools that many owners share: in fair turns, or for calls to other hosts, rejected instead of queued."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from attestlab.core.errors import Unavailable

Result = TypeVar("Result")
MAX_CALLS = 5
RETRY_AFTER_S = 5


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


class OutboundCalls:
    """Calls to other hosts, limited in number, at most one per owner.

    A host that does not respond occupies a thread until the call's timeout. So these threads do no other work, and a
    call beyond the limits fails immediately, because a queue would only pass the delay on to the next owner. Belongs to
    one event loop.
    """

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        self._max_calls = max_calls
        self._pool = ThreadPoolExecutor(max_calls, "attestlab-outward")
        self._owners: set[str] = set()

    async def run(self, owner: str, function: Callable[..., Result], *arguments: object) -> Result:
        """Run `function` in a thread now; its slot is released when it returns, even if the client disconnects.

        Raises:
            Unavailable: a call of this owner is in flight, or the limit of concurrent calls is reached.
        """
        if owner in self._owners:
            raise _unavailable("A call to another host is already in flight for this tenant (limit 1).")
        if len(self._owners) >= self._max_calls:
            raise _unavailable(f"Too many calls to other hosts are in flight (limit {self._max_calls}).")
        self._owners.add(owner)
        future = self._pool.submit(function, *arguments)
        future.add_done_callback(lambda _done: self._owners.discard(owner))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Shut down the threads; calls in flight finish."""
        self._pool.shutdown(wait=False)


def _unavailable(message: str) -> Unavailable:
    return Unavailable(f"{message} Retry in {RETRY_AFTER_S} seconds.", retry_after_s=RETRY_AFTER_S)
