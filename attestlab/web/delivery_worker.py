"""The delivery worker of a server process: delivers what is due in a queue, such as e-mails or webhooks.

A queue is shared by all processes of an installation. A worker leases deliveries under the writer's lock, renews the
leases while it attempts them, and records the outcomes; no attempt runs within a transaction. If the process dies, its
deliveries become due again when their leases end. Deliveries that become due, attempts that end, and outcomes that
wait for the same commit are processed together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from attestlab.core.db.transaction import Transaction
from attestlab.web import logging_setup
from attestlab.web.supervisor import Round, Supervisor

RECORD_RETRY_INTERVAL_S = 1.0
MAX_LEASES_PER_WRITE = 128  # so that a write holds the lock for a few milliseconds

Result = TypeVar("Result")
Due = TypeVar("Due")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Write(Protocol):
    """Runs a job in the next group commit, and returns its result once that is durable."""

    def __call__(self, job: Callable[[Transaction], Result], /) -> Coroutine[object, object, Result]:
        """Run `job`."""
        ...


class DeliveryQueue(Protocol[Due, Item, Outcome]):
    """A queue of deliveries and their transport; `Due` identifies a due delivery, and `Item` is a leased one.

    Items are hashable. The worker calls `find_due` in a thread, `attempt` on the loop, and the others within a write.
    """

    name: str  # in the log and at /readyz
    max_attempts_at_once: int
    renewal_interval_s: float  # a lease lasts at least three times as long
    poll_interval_s: float  # for deliveries that another process enqueued, and those that become due
    on_enqueued: list[Callable[[], None]]  # to be called, from any thread, once new deliveries are durable

    def find_due(self, running: Collection[Item], *, at_most: int) -> Sequence[Due]:
        """Return what identifies deliveries that this process may lease next to those that it is delivering."""
        ...

    def lease(self, tx: Transaction, due: Sequence[Due]) -> Sequence[Item]:
        """Lease those that are still due, for this process alone."""
        ...

    def renew(self, tx: Transaction, items: Sequence[Item]) -> None:
        """Extend the leases that this process still holds."""
        ...

    async def attempt(self, item: Item) -> Outcome:
        """Attempt a delivery once; a failure is an outcome too."""
        ...

    def record(self, tx: Transaction, outcomes: Sequence[Outcome]) -> None:
        """Record the outcomes of attempts."""
        ...


class DeliveryWorker(Generic[Due, Item, Outcome]):
    """Delivers what is due in a queue, from `start` to `finish`; `write` runs a job in the next group commit."""

    def __init__(self, queue: DeliveryQueue[Due, Item, Outcome], *, write: Write) -> None:
        self._queue = queue
        self._write = write
        self._wake_up = asyncio.Event()
        self._leased_at: dict[Item, float] = {}  # the deliveries that are running or not recorded yet
        self._attempts: set[asyncio.Task[None]] = set()
        self._outcomes: list[tuple[Item, Outcome]] = []  # to be recorded
        self._recording: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self, background: Supervisor) -> None:
        """Start the worker as a task of the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._task = background.start(self._queue.name, self._run)
        self._renewing = asyncio.create_task(self._renew_leases())

    async def finish(self, *, within_s: float) -> None:
        """Start no further delivery, and wait up to `within_s` seconds for running ones.

        A slower delivery is abandoned and repeated later.
        """
        self._stopping = True
        self._wake_up.set()
        until = self._loop.time() + within_s
        await self._task.finish(within_s=within_s)
        while self._open_tasks() and self._loop.time() < until:
            await asyncio.wait(self._open_tasks(), timeout=until - self._loop.time())
        for task in (*self._open_tasks(), self._renewing):
            task.cancel()

    def _open_tasks(self) -> list[asyncio.Task[None]]:
        return [*self._attempts, *([self._recording] if self._recording is not None else [])]

    async def _run(self, completed_round: Round) -> None:
        """Deliver what is due, what is enqueued, and what becomes due.

        An error, such as an unreachable database, ends this task: the supervisor restarts it, and what is due stays so.
        """
        self._queue.on_enqueued.append(self._wake_from_any_thread)
        try:
            while not self._stopping:
                await self._start_due_deliveries()
                completed_round()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._queue.poll_interval_s):
                        await self._wake_up.wait()
                self._wake_up.clear()
        finally:
            self._queue.on_enqueued.remove(self._wake_from_any_thread)

    def _wake_from_any_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._wake_up.set)

    async def _start_due_deliveries(self) -> None:
        """Start an attempt of each due delivery, up to the limit; an attempt that ends wakes the worker."""
        while (room := self._room()) and (due := await self._find_due(room)):
            for item in await self._write(lambda tx, due=due: self._queue.lease(tx, due)):  # type: ignore[misc]  # bound
                self._leased_at[item] = self._loop.time()
                attempt = asyncio.create_task(self._process(item))
                self._attempts.add(attempt)
                attempt.add_done_callback(self._attempts.discard)

    def _room(self) -> int:
        return (
            0 if self._stopping else min(self._queue.max_attempts_at_once - len(self._leased_at), MAX_LEASES_PER_WRITE)
        )

    async def _find_due(self, room: int) -> Sequence[Due]:
        running = tuple(self._leased_at)
        return await asyncio.to_thread(lambda: self._queue.find_due(running, at_most=room))

    async def _process(self, item: Item) -> None:
        try:
            outcome = await self._queue.attempt(item)
        except BaseException as error:
            del self._leased_at[item]  # it is due again when its lease ends
            if isinstance(error, Exception):
                logging_setup.log_part_failure(error, part=self._queue.name)
            else:
                raise
        else:
            self._outcomes.append((item, outcome))
            if self._recording is None:
                self._recording = asyncio.create_task(self._record_outcomes())

    async def _record_outcomes(self) -> None:
        """Record outcomes until none is left, with unlimited retries: what was accepted must not be sent again."""
        try:
            while self._outcomes:
                outcomes, self._outcomes = self._outcomes, []
                unrecorded = await self._record(outcomes)
                self._wake_up.set()
                if unrecorded:
                    self._outcomes += unrecorded
                    await asyncio.sleep(RECORD_RETRY_INTERVAL_S)
        finally:
            self._recording = None

    async def _record(self, outcomes: list[tuple[Item, Outcome]]) -> list[tuple[Item, Outcome]]:
        """Record outcomes in one write, or if it fails, each in its own; returns those that could not be recorded."""
        try:
            await self._write(lambda tx: self._queue.record(tx, [outcome for _, outcome in outcomes]))
        except Exception as error:
            logging_setup.log_repeated_failure(f"outcomes of {self._queue.name} not recorded", error)
            if len(outcomes) == 1:
                return outcomes
            return [each for one in outcomes for each in await self._record([one])]
        for item, _ in outcomes:
            del self._leased_at[item]
        return []

    async def _renew_leases(self) -> None:
        """Renew the leases of slow deliveries, and of those whose outcome is not recorded yet."""
        interval_s = self._queue.renewal_interval_s
        while True:
            await asyncio.sleep(interval_s)
            now = self._loop.time()
            slow = [item for item, at in self._leased_at.items() if at <= now - interval_s]
            with suppress(Exception):  # the database is unreachable, so no other process can lease them either
                if slow:
                    await self._write(lambda tx, slow=slow: self._queue.renew(tx, slow))  # type: ignore[misc]  # bound
                    self._leased_at |= dict.fromkeys(self._leased_at.keys() & slow, now)
