"""Group commit in a thread: jobs that arrive during a commit share the next one.

There is no timer. The writer thread takes all queued jobs, runs them in one transaction
and delivers their results together. A job that fails is rolled back alone. If the
transaction as a whole fails before its commit, each job runs again in its own transaction,
so that only the job that caused the failure gets the error.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass

from attestlab.core.db.group_commit import Deliver, Foresee, Job, foresee_nothing
from attestlab.core.db.storage import CommitUnknown, NotBegun, Storage
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import AttestLabError, Unavailable

MAX_GROUP_SIZE = 512
MAX_QUEUED = 4096
TOO_MANY_WRITES = "Too many writes are queued (limit {}). Retry in 1 second."


@dataclass(slots=True)
class PendingWrite:
    """A queued job with its callback, what it will read and, once it has run, its result or error."""

    job: Job
    deliver: Deliver
    foresee: Foresee = foresee_nothing
    result: object = None
    error: BaseException | None = None


class ThreadGroupCommit:
    """The writer thread of a process: it runs the writes of all requests.

    `deliver_group` receives all pending writes of a group at once; a server uses it to
    wake its event loop once for each group instead of once for each job.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        deliver_group: Callable[[list[PendingWrite]], None] | None = None,
        max_queued: int = MAX_QUEUED,
    ) -> None:
        self._storage = storage
        self._queue: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self._max_queued = max_queued
        self._deliver_group = deliver_group or resolve_all
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="attestlab-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job, deliver: Deliver, foresee: Foresee = foresee_nothing) -> None:
        """Queue a job and call `deliver(result, error)` once its group is durable or has failed.

        `foresee` names what the job will read, so that the group reads it once.

        Raises:
            Unavailable: the queue is full.
        """
        if self._queue.qsize() >= self._max_queued:
            raise Unavailable(TOO_MANY_WRITES.format(self._max_queued), retry_after_s=1)
        self._queue.put(PendingWrite(job, deliver, foresee))
        self._storage.observer.observe_queue(self._queue.qsize())

    def run(self, job: Job, *, timeout_s: float | None = None) -> object:
        """Queue a job and wait for its result; call it from any thread except the writer thread."""
        future: Future[object] = Future()

        def deliver(result: object, error: BaseException | None) -> None:
            future.set_result(result) if error is None else future.set_exception(error)

        self.submit(job, deliver)
        return future.result(timeout_s)

    def close(self) -> None:
        """Commit all accepted jobs, then stop the thread."""
        self._queue.put(None)
        self._thread.join()

    async def aclose(self) -> None:
        """Do the same as `close`, without blocking the event loop.

        It needs no further thread: a lab that a script does not close ends when pools take no more work.
        """
        self._queue.put(None)
        await asyncio.wrap_future(self._ended)

    @property
    def waiting(self) -> int:
        """Number of jobs queued for the next group."""
        return self._queue.qsize()

    def _run(self) -> None:
        try:
            self._commit_groups()
        finally:
            self._ended.set_result(None)

    def _commit_groups(self) -> None:
        is_open = True
        while is_open:
            group, is_open = self._take_group()
            if group:
                self._storage.observer.observe_queue(self._queue.qsize())
                self._storage.observer.observe_group(len(group))
                self._commit(group)
                self._deliver_group(group)

    def _take_group(self) -> tuple[list[PendingWrite], bool]:
        """Wait for a job and take all queued jobs, up to the limit; also returns whether the queue is open."""
        group: list[PendingWrite] = []
        pending = self._queue.get()
        while pending is not None:
            group.append(pending)
            if len(group) == MAX_GROUP_SIZE:
                return group, True
            try:
                pending = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _commit(self, group: list[PendingWrite]) -> None:
        failure = self._try_commit(group)
        if failure is None:
            return
        if is_not_retryable(group, failure):
            fail_all(group, failure)
            return
        for pending in group:
            if (own := self._try_commit([pending])) is not None:
                fail_all([pending], own)

    def _try_commit(self, group: list[PendingWrite]) -> BaseException | None:
        """Run all jobs in one transaction and commit it; returns the error that failed the transaction."""
        try:
            with self._storage.write(foreseen=foresee_reads(group)) as tx:
                run_jobs(tx, group)
        except BaseException as error:  # the writer thread must survive any error; the callers get it
            return error
        return None


def foresee_reads(group: list[PendingWrite]) -> Foreseen:
    """Return what all jobs of a group will read, so that one statement of each kind loads it for all."""
    foreseen: Foreseen = {}
    for pending in group:
        pending.foresee(foreseen)
    return foreseen


def run_jobs(tx: Transaction, group: list[PendingWrite]) -> None:
    """Run the jobs of a group in order; each stores its result or its `AttestLabError`.

    Another error may have ended the transaction itself: PostgreSQL aborts a transaction on an error,
    and SQLite rolls it back when the disk fails. So such an error fails the group, whose jobs are then
    retried one by one.
    """
    for pending in group:
        pending.result = pending.error = None
        try:
            pending.result = tx.attempt_job(pending.job)
        except AttestLabError as error:
            pending.error = error


def is_not_retryable(group: list[PendingWrite], error: BaseException) -> bool:
    """Whether retrying the jobs one by one would fail in the same way or could apply them twice."""
    return isinstance(error, CommitUnknown | NotBegun) or len(group) == 1


def fail_all(group: list[PendingWrite], error: BaseException) -> list[PendingWrite]:
    """Set the transaction's error on each job of the group that has no other error."""
    for pending in group:
        pending.result, pending.error = None, pending.error or error
    return group


def resolve_all(group: Iterable[PendingWrite]) -> None:
    """Deliver each pending write's result or error to its caller."""
    for pending in group:
        pending.deliver(pending.result, pending.error)
