"""Group commit on an event loop (SQLite): jobs run on the loop, and a thread waits for the disk.

Python runs one thread at a time. A writer thread next to a busy event loop would gain no
speed and would pay for switching the interpreter lock at every row. So the event loop runs
a whole group without interruption, and a thread waits for the disk and for other processes.
During that wait the event loop answers other requests and the next group gathers.

Measured with eight clients: groups of 6.0 instead of 4.2, 0.9 instead of 1.5 ms of processor time
for each mint, and a p50 of 1.6 instead of 2.4 times the floor's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from attestlab.core.db.group_commit import Deliver, Foresee, Job, foresee_nothing
from attestlab.core.db.group_commit.thread import (
    MAX_GROUP_SIZE,
    MAX_QUEUED,
    TOO_MANY_WRITES,
    PendingWrite,
    fail_all,
    is_not_retryable,
    resolve_all,
    run_jobs,
)
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable

Result = TypeVar("Result")

GATHER_SHARE = 0.25  # of the time that the last group took
MAX_GATHER_S = 0.01  # that time may include a wait for another process's lock
MAX_EXPECTED_JOBS = 32  # larger groups gain little: while these are committed, the loop works on the next ones


class LoopGroupCommit:
    """The writer of one event loop; call every method on that loop."""

    def __init__(self, storage: Storage, *, max_queued: int = MAX_QUEUED) -> None:
        self._storage = storage
        self._max_queued = max_queued
        self._waiting: list[PendingWrite] = []
        self._cycle: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "attestlab-commit")
        self._loop = asyncio.get_running_loop()
        self._expected = 1
        self._gather_until = 0.0
        self._gathered = asyncio.Event()

    def submit(self, job: Job, deliver: Deliver, foresee: Foresee = foresee_nothing) -> None:
        """Queue a job and call `deliver(result, error)` once its group is durable or has failed.

        Raises:
            Unavailable: the queue is full.
        """
        if len(self._waiting) >= self._max_queued:
            raise Unavailable(TOO_MANY_WRITES.format(self._max_queued), retry_after_s=1)
        self._waiting.append(PendingWrite(job, deliver, foresee))
        self._storage.observer.observe_queue(len(self._waiting))
        if len(self._waiting) >= self._expected:
            self._gathered.set()
        if self._cycle is None:
            self._cycle = self._loop.create_task(self._run())

    @property
    def waiting(self) -> int:
        """Number of jobs queued for the next group."""
        return len(self._waiting)

    async def aclose(self) -> None:
        """Commit all accepted jobs, then stop the thread."""
        if self._cycle is not None:
            await self._cycle
        self._thread.shutdown()

    async def _run(self) -> None:
        """Commit groups until the queue is empty; a failed group fails its callers, never this loop."""
        try:
            while self._waiting:
                await self._gather()
                await self._commit_next()
                await asyncio.sleep(0)  # lets the responses go out and new requests come in
        finally:
            self._cycle = None

    async def _gather(self) -> None:
        """Wait briefly so that the next jobs of the clients just answered join the group.

        Without this wait, eight clients settle into two halves that wait for each other's syncs, and each
        half pays for a checkpoint and the commit hooks. A single client never waits.
        """
        left_s = self._gather_until - self._loop.time()
        if left_s > 0 and len(self._waiting) < self._expected:
            self._gathered.clear()
            timer = self._loop.call_later(left_s, self._gathered.set)
            await self._gathered.wait()
            timer.cancel()

    async def _commit_next(self) -> None:
        """Commit the next group, deliver its results, and set how long to gather the one after it."""
        began = self._loop.time()
        group = await self._commit_group()
        resolve_all(group)
        self._expected = min(len(group) + len(self._waiting), MAX_EXPECTED_JOBS)
        ended = self._loop.time()
        self._gather_until = ended + min(GATHER_SHARE * (ended - began), MAX_GATHER_S)

    async def _commit_group(self) -> list[PendingWrite]:
        """Commit the next group and return it, committed or failed.

        The group is taken after the writer's lock, so jobs that arrive during the wait for it still join.
        """
        try:
            tx = await self._begin()
        except BaseException as error:
            return fail_all(self._take_group(), error)
        group = self._take_group()
        failure = await self._try_commit(tx, group)
        if failure is None:
            return group
        if is_not_retryable(group, failure):
            return fail_all(group, failure)
        for pending in group:
            await self._retry_single(pending)
        return group

    async def _retry_single(self, pending: PendingWrite) -> None:
        """Run one job of a failed group in a separate transaction."""
        try:
            failure = await self._try_commit(await self._begin(), [pending])
        except BaseException as error:
            failure = error
        if failure is not None:
            fail_all([pending], failure)

    def _take_group(self) -> list[PendingWrite]:
        group = self._waiting[:MAX_GROUP_SIZE]
        del self._waiting[:MAX_GROUP_SIZE]
        self._storage.observer.observe_queue(len(self._waiting))
        self._storage.observer.observe_group(len(group))
        return group

    async def _begin(self) -> Transaction:
        tx = self._storage.try_begin()
        return await self._in_thread(self._storage.begin) if tx is None else tx

    async def _try_commit(self, tx: Transaction, group: list[PendingWrite]) -> BaseException | None:
        """Run all jobs in one transaction and commit it; returns the error that failed the transaction."""
        try:
            self._run_jobs_and_hooks(tx, group)
            await self._commit(tx)
        except BaseException as error:
            return error
        return None

    def _run_jobs_and_hooks(self, tx: Transaction, group: list[PendingWrite]) -> None:
        try:
            with self._storage.require_tx():
                run_jobs(tx, group)
                self._storage.run_commit_hooks(tx)
        except BaseException:
            self._storage.rollback(tx)
            raise

    async def _commit(self, tx: Transaction) -> None:
        try:
            committing = self._start(self._storage.commit, tx)
        except BaseException:  # the thread has stopped; the rollback releases the writer's lock
            self._storage.rollback(tx)
            raise
        await committing

    async def _in_thread(self, function: Callable[..., Result], *arguments: object) -> Result:
        return await self._start(function, *arguments)

    def _start(self, function: Callable[..., Result], *arguments: object) -> asyncio.Future[Result]:
        """Start work in the thread. While the interpreter exits, threads take none, so the loop does it itself.

        Raises:
            RuntimeError: the thread has ended for another reason.
        """
        try:
            return self._loop.run_in_executor(self._thread, function, *arguments)
        except RuntimeError:
            if threading.main_thread().is_alive():
                raise
        done: asyncio.Future[Result] = self._loop.create_future()
        try:
            done.set_result(function(*arguments))
        except BaseException as error:
            done.set_exception(error)
        return done
