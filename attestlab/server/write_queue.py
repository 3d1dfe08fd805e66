"""The desk: takes writes from the event loop to the writer's thread and brings the answers back.

A keyed write is prepared on the loop, done in the next group commit, and answered once
that is durable. Answer and change are one transaction.
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
from attestlab.installation import EXPIRIES_AT_ONCE, Installation
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
CANNOT_WRITE = "The records cannot be written; free the disk, or end what locks them. Reads go on."
EXPIRIES_A_SECOND = 3_500  # a backlog of 100,000 takes about half a minute
EXPIRIES_AT_LEAST = 50
EXPIRIES_A_WRITE = 1.5  # what the write of a request takes as long as


class WriteQueue:
    """Where the requests of one event loop hand in their writes.

    `in_flight` are the keyed writes that this process is at
    work on; what other processes do is seen under the writer's lock.
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
        """Wake the loop once for a whole group."""
        self._loop.call_soon_threadsafe(_resolve, group)

    async def write(self, job: Job) -> Any:
        """Run a job in the next group commit; returns when it is durable."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def deliver(result: Any, fault: BaseException | None) -> None:
            if future.cancelled():
                return
            future.set_result(result) if fault is None else future.set_exception(fault)

        self._writer.submit(job, deliver)
        return await future

    async def check_writes(self) -> None:
        """Raise unless a write becomes durable in time.

        Requests for it share one probe, at most one in PROBE_INTERVAL_S: it costs a sync, and `/readyz` is public.

        Raises:
            Unavailable: the disk, a lock or the writer is in the way, or a commit failed since the last probe.
        """
        if self._probe is None or (self._probe.done() and self._loop.time() - self._probed_at > PROBE_INTERVAL_S):
            self._probed_at = self._loop.time()
            self._probe = self._loop.create_task(self.write(self.lab.storage.touch))
            self._probe.add_done_callback(_retrieve)
        try:
            await asyncio.wait_for(asyncio.shield(self._probe), PROBE_TIMEOUT_S)
        except Exception as error:
            raise Unavailable(CANNOT_WRITE) from error
        if (failed := self.lab.storage.commit_error) is not None:
            raise Unavailable(f"The last commit failed ({cause_of(failed)}). {CANNOT_WRITE}") from failed

    async def perform(self, request: Request, body: BaseModel | None) -> Response:
        """Do a write route once: prepare it, run it in the group commit, remember its answer with its key."""
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
            return await self._awaited(request, body, intent)
        try:
            prepared = None if request.route.prepare is None else await request.route.prepare(request, body)
        except AttestLabError:
            if intent is not None and (answer := await self._recall(request, intent)) is not None:
                return answer  # what was done once stays done, whatever changed since
            raise
        pending = await self._written(lambda tx: _job(tx, request, body, prepared, intent, self.in_flight))
        if pending.refusal is not None:
            raise pending.refusal
        return pending.answer

    async def _written(self, job: Callable[[Transaction], DeferredResponse]) -> DeferredResponse:
        """Run a route's job; what turns out to take long runs in a thread first, without the writer's lock."""

        def quickly(tx: Transaction) -> DeferredResponse:
            with forbid_long_work():
                return job(tx)

        try:
            pending: DeferredResponse = await self.write(quickly)
        except TakesLong as long:
            await asyncio.to_thread(long.work)
            pending = await self.write(job)
        return pending

    async def _awaited(self, request: Request, body: BaseModel | None, intent: IdempotencyKey | None) -> Response:
        """An async route sees to its own writes; what it answered is remembered behind them."""
        if intent is not None and (known := await self._recall(request, intent)) is not None:
            return known
        answer = render(request.route, request, await request.route.run(request, body))
        if intent is None:
            return answer
        settled: Response = await self.write(lambda tx: _settled(tx, intent, answer))
        return settled

    async def _recall(self, request: Request, intent: IdempotencyKey) -> Response | None:
        def look() -> Response | None:
            with self.lab.storage.read() as connection:
                return idempotency.lookup(connection, intent)

        found: Response | None = await request.application.read(look)
        return found

    async def sweep_forever(self, completed_round: Round, *, every_s: float = SWEEP_INTERVAL_S) -> None:
        """Close what time has closed, every few seconds, for as long as the server runs."""
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
        """Run one part of a sweep; a log that must not be signed, or a full disk, does not keep the others from it."""
        try:
            await part()
        except AttestLabError as error:
            self._warn_of_refusal(error)
        except Exception as error:
            logging_setup.log_part_failure(error, part="sweep")

    def _warn_of_refusal(self, error: AttestLabError) -> None:
        """Log a refusal once: it lasts until the operator acts, and sweeps follow each other every few seconds."""
        if error.message not in self._logged_refusals:
            self._logged_refusals.append(error.message)
            logging_setup.log_warning("sweep refused", code=error.code, message=error.message)

    async def _expire(self) -> None:
        """Make expiries permanent until none is due: each batch is a job among those of requests, which go on."""
        pace = BacklogPacer(
            EXPIRIES_A_SECOND,
            min_batch=EXPIRIES_AT_LEAST,
            max_batch=EXPIRIES_AT_ONCE,
            reduction_per_waiter=EXPIRIES_A_WRITE,
        )
        more = True
        while more:
            more = await self.write(partial(self.lab.expire, at_most=pace.batch_size(self._writer.waiting)))

    async def finish(self) -> None:
        """Finish every accepted write, and write what was metered."""
        await self.verifications.finish()
        if isinstance(self._writer, LoopGroupCommit):
            await self._writer.finish()
        else:
            await asyncio.to_thread(self._writer.close)


class DeferredResponse:
    """An answer that is complete once the transaction is sealed; or a refusal, which is not remembered."""

    __slots__ = ("answer", "refusal")

    def __init__(self, answer: Response | None = None, refusal: AttestLabError | None = None) -> None:
        self.answer: Response = answer or Response(500, {}, b"")
        self.refusal = refusal


def _job(
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


def _settled(tx: Transaction, intent: IdempotencyKey, answer: Response) -> Response:
    """The answer that is remembered: this one, or that of another process which was quicker."""
    known = idempotency.reserve(tx, intent, group_record_ids=[intent.record_id])
    if known is None:
        idempotency.store_response(tx, intent, answer)
    return known or answer


def _retrieve(probe: asyncio.Future[Any]) -> None:
    """Take the error of a probe whose requests have timed out, so that asyncio does not report it."""
    if not probe.cancelled():
        probe.exception()


def _resolve(group: Iterable[PendingWrite]) -> None:
    for ticket in group:
        ticket.deliver(ticket.result, ticket.error)
