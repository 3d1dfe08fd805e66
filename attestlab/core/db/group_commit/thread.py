"""Group commit: jobs that arrive while a commit is in flight share the next one.

There is no timer. One thread takes whatever waits, runs it in one transaction,
and answers everybody at once. A job that fails is taken back alone; when the
transaction as a whole fails before its commit, every job is run again on its own,
so that only the guilty one hears of it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from attestlab.core.db.storage import CommitUnknown, NotBegun, Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, Unavailable

Job = Callable[[Transaction], Any]
GROUP_CAP = 512
QUEUE_CAP = 4096


@dataclass(slots=True)
class PendingWrite:
    """One waiting job and, later, what came of it."""

    job: Job
    deliver: Callable[[Any, BaseException | None], None]
    result: Any = None
    fault: BaseException | None = None


class ThreadGroupCommit:
    """The one thread of a process that writes on behalf of requests.

    `deliver_group` hands over all tickets of a group at once; a server uses it to
    wake its event loop once a group instead of once a job.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        deliver_group: Callable[[list[PendingWrite]], None] | None = None,
        queue_cap: int = QUEUE_CAP,
    ) -> None:
        self._storage = storage
        self._queue: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self._queue_cap = queue_cap
        self._deliver_group = deliver_group or resolve_all
        self._thread = threading.Thread(target=self._run, name="attestlab-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job, deliver: Callable[[Any, BaseException | None], None]) -> None:
        """Queue a job; `deliver(result, fault)` follows once its group is durable or has failed.

        Raises:
            Unavailable: more jobs wait than one queue may hold.
        """
        if self._queue.qsize() >= self._queue_cap:
            raise Unavailable("Too many writes are waiting; try again shortly.", retry_after_s=1)
        self._queue.put(PendingWrite(job, deliver))

    def run(self, job: Job, *, timeout_s: float | None = None) -> Any:
        """Queue a job and wait for it, from any thread but the writer's own."""
        future: Future[Any] = Future()

        def deliver(result: Any, fault: BaseException | None) -> None:
            future.set_result(result) if fault is None else future.set_exception(fault)

        self.submit(job, deliver)
        return future.result(timeout_s)

    def close(self) -> None:
        """Finish what was accepted, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Jobs that wait for the next group."""
        return self._queue.qsize()

    def _run(self) -> None:
        open_for_jobs = True
        while open_for_jobs:
            group, open_for_jobs = self._next_group()
            if group:
                self._commit(group)
                self._deliver_group(group)

    def _next_group(self) -> tuple[list[PendingWrite], bool]:
        """Wait for one job, then take all that came with it, up to the cap."""
        group: list[PendingWrite] = []
        ticket = self._queue.get()
        while ticket is not None:
            group.append(ticket)
            if len(group) == GROUP_CAP:
                return group, True
            try:
                ticket = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _commit(self, group: list[PendingWrite]) -> None:
        fault = self._attempt(group)
        if fault is None:
            return
        if is_not_retryable(group, fault):
            fail_all(group, fault)
            return
        for ticket in group:
            if (own := self._attempt([ticket])) is not None:
                fail_all([ticket], own)

    def _attempt(self, group: list[PendingWrite]) -> BaseException | None:
        """All jobs in one transaction; what is returned is the transaction's own failure."""
        try:
            with self._storage.write() as tx:
                run_jobs(tx, group)
        except BaseException as error:  # the thread must outlive any failure; it is delivered to the callers
            return error
        return None


def run_jobs(tx: Transaction, group: list[PendingWrite]) -> None:
    """Run the jobs of a group one after another; each keeps its own result, or its own refusal.

    Any other failure may have cost the transaction itself: PostgreSQL aborts it on an error,
    SQLite rolls it back when the disk fails. It is the group's then, and whoever is not to
    blame is run again.
    """
    for ticket in group:
        ticket.result = ticket.fault = None
        try:
            ticket.result = tx.attempt(ticket.job)
        except AttestLabError as refusal:
            ticket.fault = refusal


def is_not_retryable(group: list[PendingWrite], fault: BaseException) -> bool:
    """Whether running each job on its own would help nobody, or could do twice what is done already."""
    return isinstance(fault, CommitUnknown | NotBegun) or len(group) == 1


def fail_all(group: list[PendingWrite], fault: BaseException) -> list[PendingWrite]:
    """The transaction as a whole failed: whoever has no failure of its own gets that one."""
    for ticket in group:
        ticket.result, ticket.fault = None, ticket.fault or fault
    return group


def resolve_all(group: list[PendingWrite]) -> None:
    """Hand every ticket what came of it."""
    for ticket in group:
        ticket.deliver(ticket.result, ticket.fault)
