"""The write queue: passes the writes of requests to the group commit and returns the responses.

A write with an Idempotency-Key is prepared on the event loop, runs in the next group commit,
and gets its response when the commit is durable. The change and the stored response are one
transaction.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import Any

from pydantic import BaseModel

from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.core.db.group_commit.loop import LoopGroupCommit
from attestlab.core.db.group_commit.thread import Job, PendingWrite, ThreadGroupCommit
from attestlab.core.db.transaction import Transaction
from attestlab.core.error_text import cause_of
from attestlab.core.errors import AttestLabError, RequestInFlight, Unavailable
from attestlab.core.execution.long_work import TakesLong, forbid_long_work
from attestlab.core.limits.backlog_pacer import BacklogPacer
from attestlab.installation import MAX_EXPIRIES_PER_WRITE, Installation
from attestlab.lake.export_process import ExportProcess
from attestlab.web import logging_setup
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.idempotency.keys import IdempotencyKey
from attestlab.web.request import CommittedError, Request
from attestlab.web.response import Response, render
from attestlab.web.supervisor import Round, Supervisor

SWEEP_INTERVAL_S = 5.0
PROBE_INTERVAL_S = 1.0
PROBE_TIMEOUT_S = 2.0
CANNOT_WRITE = "The records cannot be written. Free disk space, or end the process that locks them. Reads still work."
EXPIRIES_PER_SECOND = 3_500  # a backlog of 100,000 takes about half a minute
MIN_EXPIRIES_PER_WRITE = 50
EXPIRIES_PER_QUEUED_WRITE = 1.5  # one request's write takes as long as this many expiries


class WriteQueue:
    """The writes of one event loop's requests.

    `in_flight` holds the idempotency records that this process is working on; those of other processes
    are visible under the writer's lock.
    """

    def __init__(self, lab: Installation) -> None:
        self.lab = lab
        self.in_flight: set[bytes] = set()
        self.background = Supervisor()
        self._logged_refusals: deque[str] = deque(maxlen=16)
        self._loop = asyncio.get_running_loop()
        self._probe: asyncio.Future[Any] | None = None
        self._probed_at = 0.0
        self._writer: LoopGroupCommit | ThreadGroupCommit = (
            LoopGroupCommit(lab.storage)
            if lab.storage.is_sqlite
            else ThreadGroupCommit(lab.storage, deliver_group=self._deliver_group)
        )
        self.verifications = WriteBehind(
            self._writer.submit,
            fails_certainly=lab.storage.is_sqlite,
            failed=partial(logging_setup.log_part_failure, part="metering"),
        )

    def _deliver_group(self, group: list[PendingWrite]) -> None:
        """Wake the event loop once for a whole group."""
        self._loop.call_soon_threadsafe(_resolve, group)

    async def write(self, job: Job) -> Any:
        """Run a job in the next group commit; returns its result when the commit is durable."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def deliver(result: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            future.set_result(result) if error is None else future.set_exception(error)

        self._writer.submit(job, deliver)
        return await future

    async def check_writes(self) -> None:
        """Check that a write becomes durable in time.

        Concurrent checks share one probe, at most one in PROBE_INTERVAL_S: it costs a sync, and `/readyz` is public.

        Raises:
            Unavailable: the disk, a lock or the writer blocks the probe, or a commit failed since the last probe.
        """
        if self._probe is None or (self._probe.done() and self._loop.time() - self._probed_at > PROBE_INTERVAL_S):
            self._probed_at = self._loop.time()
            self._probe = self._loop.create_task(self.write(self.lab.storage.touch))
            self._probe.add_done_callback(_consume_error)
        try:
            await asyncio.wait_for(asyncio.shield(self._probe), PROBE_TIMEOUT_S)
        except Exception as error:
            raise Unavailable(CANNOT_WRITE) from error
        if (commit_error := self.lab.storage.commit_error) is not None:
            raise Unavailable(f"The last commit failed ({cause_of(commit_error)}). {CANNOT_WRITE}") from commit_error

    async def perform(self, request: Request, body: BaseModel | None) -> Response:
        """Execute a write route once: prepare it, run it in a group commit, store its response with its key."""
        intent = idempotency.read_key(request)
        if intent is None:
            return await self._run(request, body, None)
        if intent.record_id in self.in_flight:
            raise RequestInFlight
        self.in_flight.add(intent.record_id)
        try:
            return await self._run(request, body, intent)
        finally:
            self.in_flight.discard(intent.record_id)

    async def _run(self, request: Request, body: BaseModel | None, intent: IdempotencyKey | None) -> Response:
        if request.route.is_async:
            return await self._run_async(request, body, intent)
        try:
            prepared = None if request.route.prepare is None else await request.route.prepare(request, body)
        except AttestLabError:
            if intent is not None and (answer := await self._recall(request, intent)) is not None:
                return answer  # a completed write keeps its response, even if a retry would now fail
            raise
        pending = await self._write_response(lambda tx: _run_write(tx, request, body, prepared, intent, self.in_flight))
        if pending.refusal is not None:
            raise pending.refusal
        return pending.answer

    async def _write_response(self, job: Callable[[Transaction], DeferredResponse]) -> DeferredResponse:
        """Run a route's job; if it needs long work, run that in a thread first, without the writer's lock."""

        def run_without_long_work(tx: Transaction) -> DeferredResponse:
            with forbid_long_work():
                return job(tx)

        try:
            pending: DeferredResponse = await self.write(run_without_long_work)
        except TakesLong as error:
            await asyncio.to_thread(error.work)
            pending = await self.write(job)
        return pending

    async def _run_async(self, request: Request, body: BaseModel | None, intent: IdempotencyKey | None) -> Response:
        """Run an async route, which writes by itself; its response is stored afterwards."""
        if intent is not None and (known := await self._recall(request, intent)) is not None:
            return known
        answer = render(request.route, request, await request.route.run(request, body))
        if intent is None:
            return answer
        stored: Response = await self.write(lambda tx: _store_response(tx, intent, answer))
        return stored

    async def _recall(self, request: Request, intent: IdempotencyKey) -> Response | None:
        def look_up() -> Response | None:
            with self.lab.storage.read() as connection:
                return idempotency.lookup(connection, intent)

        stored: Response | None = await request.application.read(look_up)
        return stored

    async def sweep_forever(self, completed_round: Round, *, every_s: float = SWEEP_INTERVAL_S) -> None:
        """Run periodic work every few seconds while the server runs: expiries, clean-up, status lists, exports."""
        exports = ExportProcess(self.lab.lake)
        while True:
            await asyncio.sleep(every_s)
            for part in (
                partial(self.write, self.lab.sweep),
                partial(asyncio.to_thread, self.lab.forget_counts),
                partial(asyncio.to_thread, self.lab.keep_in_touch),
                partial(asyncio.to_thread, self.lab.observe_head),
                self._expire,
                partial(asyncio.to_thread, self.lab.status_lists.warm),
                partial(self.write, self.lab.list_statuses),
                exports.sweep,
            ):
                await self._sweep_part(part)
            completed_round()

    async def _sweep_part(self, part: Callable[[], Awaitable[object]]) -> None:
        """Run one part of a sweep; an error, such as a full disk or a blocked log, does not stop the other parts."""
        try:
            await part()
        except AttestLabError as error:
            self._warn_once(error)
        except Exception as error:
            logging_setup.log_part_failure(error, part="sweep")

    def _warn_once(self, error: AttestLabError) -> None:
        """Log an error once: it persists until the operator acts, and a sweep runs every few seconds."""
        if error.message not in self._logged_refusals:
            self._logged_refusals.append(error.message)
            logging_setup.log_warning("sweep refused", code=error.code, message=error.message)

    async def _expire(self) -> None:
        """Make all due expiries permanent, in batches that are queued between the writes of requests."""
        pace = BacklogPacer(
            EXPIRIES_PER_SECOND,
            min_batch=MIN_EXPIRIES_PER_WRITE,
            max_batch=MAX_EXPIRIES_PER_WRITE,
            reduction_per_waiter=EXPIRIES_PER_QUEUED_WRITE,
        )
        more = True
        while more:
            more = await self.write(partial(self.lab.expire, at_most=pace.batch_size(self._writer.waiting)))

    async def finish(self) -> None:
        """Write the buffered metering and commit every accepted write."""
        await self.verifications.finish()
        if isinstance(self._writer, LoopGroupCommit):
            await self._writer.finish()
        else:
            await asyncio.to_thread(self._writer.close)


class DeferredResponse:
    """A response that is complete once the commit hooks have run, or an error, which is not stored."""

    __slots__ = ("answer", "refusal")

    def __init__(self, answer: Response | None = None, refusal: AttestLabError | None = None) -> None:
        self.answer: Response = answer or Response(500, {}, b"")
        self.refusal = refusal


def _run_write(
    tx: Transaction,
    request: Request,
    body: BaseModel | None,
    prepared: object,
    intent: IdempotencyKey | None,
    in_flight: Collection[bytes],
) -> DeferredResponse:
    if intent is not None and (known := idempotency.reserve(tx, intent, group_record_ids=in_flight)) is not None:
        return DeferredResponse(known)
    result = request.route.run(request, body, prepared)
    if isinstance(result, CommittedError):
        return DeferredResponse(refusal=result.error)
    pending = DeferredResponse()

    def finish() -> None:
        pending.answer = render(request.route, request, result)
        if intent is not None:
            idempotency.store_response(tx, intent, pending.answer)

    tx.after_sequencing(finish)
    return pending


def _store_response(tx: Transaction, intent: IdempotencyKey, answer: Response) -> Response:
    """Store a response and return the stored one, which may be that of another process that was faster."""
    known = idempotency.reserve(tx, intent, group_record_ids=[intent.record_id])
    if known is None:
        idempotency.store_response(tx, intent, answer)
    return known or answer


def _consume_error(probe: asyncio.Future[Any]) -> None:
    """Retrieve the error of a probe whose checks have timed out, so that asyncio does not log it."""
    if not probe.cancelled():
        probe.exception()


def _resolve(group: Iterable[PendingWrite]) -> None:
    for pending in group:
        pending.deliver(pending.result, pending.error)
