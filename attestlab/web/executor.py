"""Where the work of handlers runs: on the event loop, in threads by kind of work, or in the next group commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Protocol, TypeVar

from attestlab.core.db.transaction import Transaction
from attestlab.core.execution.long_work import TakesLong, forbid_long_work
from attestlab.core.limits.background_turns import BackgroundTurns, WaitingRequests
from attestlab.web.shared_reads import SharedReads, ShareReads
from attestlab.web.shared_threads import FairThreads, OutboundCalls

Result = TypeVar("Result")

_READ_THREADS = 6  # each with a connection to the database; SQLite is read on the event loop
_SHARED_READ_THREADS = 2  # more would share less
_LONG_THREADS = 6  # two proofs and two simulations may occupy some for a long time
_BODY_THREADS = 2  # bodies are parsed under the GIL, so more threads would only wait for each other
_PASSWORD_THREADS = 2  # each needs 64 MiB while it hashes
_BULK_SHARE = 0.14  # of the time, next to clients that never stop; they may be slowed by a fifth at most


class GroupWrite(Protocol):
    """Runs a job in the next group commit; returns the job's result once it is durable."""

    def __call__(self, job: Callable[[Transaction], Result], /) -> Awaitable[Result]: ...


class Executor:
    """The threads and the group commit of one application; belongs to one event loop.

    With `reads_inline`, reads run on the event loop, because they are fast enough there (SQLite in the same process);
    otherwise they run in threads, where those that may share a snapshot do so within `share_reads`.
    """

    def __init__(
        self,
        write: GroupWrite,
        *,
        reads_inline: bool = True,
        share_reads: ShareReads = nullcontext,
        count_waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        self.count_waiting = count_waiting  # the writes that are queued for the next group commit
        self.requests = WaitingRequests()
        self.bulk = BackgroundTurns(_BULK_SHARE, requests=self.requests, count_writes=count_waiting)
        self.bodies = FairThreads(_BODY_THREADS, "attestlab-bodies")
        self.outbound = OutboundCalls()
        self._write = write
        self._reads_inline = reads_inline
        self._reads = ThreadPoolExecutor(_READ_THREADS, "attestlab-reads")
        self._shared_reads = SharedReads(_SHARED_READ_THREADS, share_reads)
        self._long = ThreadPoolExecutor(_LONG_THREADS, "attestlab-long")
        self._passwords = ThreadPoolExecutor(_PASSWORD_THREADS, "attestlab-passwords")

    async def write(self, job: Callable[[Transaction], Result]) -> Result:
        """Run a job in the next group commit; returns its result once it is durable."""
        with self.requests.count():
            return await self._write(job)

    async def read(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a read on the event loop or in a thread, as `reads_inline` sets."""
        if self._reads_inline:
            return await self.run_inline(function, *arguments)
        with self.requests.count():
            return await asyncio.get_running_loop().run_in_executor(self._reads, function, *arguments)

    async def run_inline(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run what takes a millisecond on the event loop; work that it declares as long runs in a thread first."""
        try:
            with forbid_long_work():
                return function(*arguments)
        except TakesLong as long:
            await self.run_in_thread(long.work)
        return function(*arguments)

    async def read_shared(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a short read like `read`; in a thread it may share the snapshot of reads that waited with it.

        The snapshot may be older than what the read finds elsewhere, such as in a file.
        """
        if self._reads_inline:
            return await self.read(function, *arguments)
        with self.requests.count():
            return await self._shared_reads.run(function, *arguments)

    async def run_in_thread(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run long work in threads that no read uses; calls to other hosts belong in `outbound`."""
        return await asyncio.get_running_loop().run_in_executor(self._long, function, *arguments)

    async def hash_password(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Create or verify a password hash in threads that no other work uses."""
        return await asyncio.get_running_loop().run_in_executor(self._passwords, function, *arguments)

    def close(self) -> None:
        """Shut down the thread pools."""
        self.bodies.close()
        self.outbound.close()
        self._shared_reads.close()
        for pool in (self._reads, self._long, self._passwords):
            pool.shutdown(wait=False)
