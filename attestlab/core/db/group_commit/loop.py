"""Group commit for one event loop on SQLite: jobs run on the loop, and only the waiting is done in a thread.

Python runs one thread at a time, so a writer's thread beside a busy loop gains no
speed and pays for handing the interpreter to and fro at every row. Here a group is
run in one piece on the loop; the disk, and other processes, are waited for in a
thread, during which the loop answers on and the next group gathers.

Measured with eight clients: groups of 6.0 instead of 4.2, 0.9 instead of 1.5 ms of processor time
for each mint, and a p50 of 1.6 instead of 2.4 times the floor's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attestlab.core.db.group_commit.thread import (
    GROUP_CAP,
    QUEUE_CAP,
    Job,
    PendingWrite,
    fail_all,
    is_not_retryable,
    resolve_all,
    run_jobs,
)
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable

GATHER_SHARE = 0.25  # of the time that the last group took
MAX_GATHER_S = 0.01  # that time may include a wait for another process's lock
ENOUGH_JOBS = 32  # more gain little: while these are committed, the loop works on the next ones


class LoopGroupCommit:
    """The writer of one event loop; every method is called on it."""

    def __init__(self, storage: Storage, *, queue_cap: int = QUEUE_CAP) -> None:
        self._storage = storage
        self._queue_cap = queue_cap
        self._waiting: list[PendingWrite] = []
        self._cycle: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "attestlab-commit")
        self._loop = asyncio.get_running_loop()
        self._expected = 1
        self._gather_until = 0.0
        self._gathered = asyncio.Event()

    def submit(self, job: Job, deliver: Callable[[Any, BaseException | None], None]) -> None:
        """Queue a job; `deliver(result, fault)` follows once its group is durable or has failed.

        Raises:
            Unavailable: more jobs wait than one queue may hold.
        """
        if len(self._waiting) >= self._queue_cap:
            raise Unavailable("Too many writes are waiting; try again shortly.", retry_after_s=1)
        self._waiting.append(PendingWrite(job, deliver))
        if len(self._waiting) >= self._expected:
            self._gathered.set()
        if self._cycle is None:
            self._cycle = self._loop.create_task(self._run())

    @property
    def waiting(self) -> int:
        """Jobs that wait for the next group."""
        return len(self._waiting)

    async def finish(self) -> None:
        """Finish what was accepted, then end the thread."""
        if self._cycle is not None:
            await self._cycle
        self._thread.shutdown()

    async def _run(self) -> None:
        """Commit group after group until nothing waits; a group's failure is its callers', never this cycle's."""
        try:
            while self._waiting:
                await self._gather()
                await self._commit_next()
                await asyncio.sleep(0)  # the answers go out, and what was sent meanwhile comes in
        finally:
            self._cycle = None

    async def _gather(self) -> None:
        """Wait a little for the next jobs of the clients that were just answered, so that these join the group.

        Without this, eight clients settle into two halves that wait for each other's syncs, and each
        half pays for a checkpoint and the seals. A client alone is never waited for.
        """
        left_s = self._gather_until - self._loop.time()
        if left_s > 0 and len(self._waiting) < self._expected:
            self._gathered.clear()
            timer = self._loop.call_later(left_s, self._gathered.set)
            await self._gathered.wait()
            timer.cancel()

    async def _commit_next(self) -> None:
        """Commit the next group and answer it."""
        began = self._loop.time()
        group = await self._committed()
        resolve_all(group)
        self._expected = min(len(group) + len(self._waiting), ENOUGH_JOBS)
        ended = self._loop.time()
        self._gather_until = ended + min(GATHER_SHARE * (ended - began), MAX_GATHER_S)

    async def _committed(self) -> list[PendingWrite]:
        """The next group, done or failed. Whoever comes while another writer is waited for still joins it."""
        try:
            tx = await self._begin()
        except BaseException as refused:
            return fail_all(self._next_group(), refused)
        group = self._next_group()
        fault = await self._attempt(tx, group)
        if fault is None:
            return group
        if is_not_retryable(group, fault):
            return fail_all(group, fault)
        for ticket in group:
            await self._alone(ticket)
        return group

    async def _alone(self, ticket: PendingWrite) -> None:
        """Run one job of a group that failed."""
        try:
            fault = await self._attempt(await self._begin(), [ticket])
        except BaseException as refused:
            fault = refused
        if fault is not None:
            fail_all([ticket], fault)

    def _next_group(self) -> list[PendingWrite]:
        group = self._waiting[:GROUP_CAP]
        del self._waiting[:GROUP_CAP]
        return group

    async def _begin(self) -> Transaction:
        return self._storage.begin_at_once() or await self._aside(self._storage.begin)

    async def _attempt(self, tx: Transaction, group: list[PendingWrite]) -> BaseException | None:
        """All jobs in one transaction; what is returned is the transaction's own failure."""
        try:
            self._run_and_seal(tx, group)
            await self._commit(tx)
        except BaseException as error:
            return error
        return None

    def _run_and_seal(self, tx: Transaction, group: list[PendingWrite]) -> None:
        try:
            with self._storage.entered(tx):
                run_jobs(tx, group)
                self._storage.seal(tx)
        except BaseException:
            self._storage.abandon(tx)
            raise

    async def _commit(self, tx: Transaction) -> None:
        try:
            committing = self._loop.run_in_executor(self._thread, self._storage.commit, tx)
        except BaseException:  # there is no thread any more; the writer's lock is given back
            self._storage.abandon(tx)
            raise
        await committing

    async def _aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await self._loop.run_in_executor(self._thread, function, *arguments)
