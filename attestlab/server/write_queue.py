"""The write queue: passes the writes of requests to the group commit and returns the responses.

A write with an Idempotency-Key is prepared on the event loop, runs in the next group commit,
and gets its response when the commit is durable. The change and the stored response are one
transaction.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Protocol, TypeVar, cast

from pydantic import BaseModel

from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.core.db.group_commit import Foresee, GroupCommit, foresee_nothing
from attestlab.core.db.group_commit.loop import LoopGroupCommit
from attestlab.core.db.group_commit.thread import PendingWrite, ThreadGroupCommit, resolve_all
from attestlab.core.db.transaction import Transaction
from attestlab.core.error_text import cause_of
from attestlab.core.errors import AttestLabError, RequestInFlight, Unavailable
from attestlab.core.execution.long_verbs import DoneCall, KeptCall, ServiceCall, TakesLongWrite, refer_long_writes
from attestlab.core.execution.long_work import TakesLong, forbid_long_work
from attestlab.core.execution.long_writes import KeyedTry, LongWrites, keep_results
from attestlab.core.limits.backlog_pacer import BacklogPacer
from attestlab.installation import MAX_EXPIRIES_PER_WRITE, Installation
from attestlab.lake.export_process import ExportProcess
from attestlab.server import long_write_jobs
from attestlab.server.profile_upgrade import ProfileUpgrade
from attestlab.server.route_writes import foresee_write, run_write, store_response
from attestlab.web import logging_setup
from attestlab.web.executor import Executor
from attestlab.web.idempotency import kept_results
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.idempotency.kept_results import KeyOfResult
from attestlab.web.idempotency.keys import IdempotencyKey
from attestlab.web.request import Request
from attestlab.web.response import Response
from attestlab.web.routing import calls
from attestlab.web.supervisor import Round, Supervisor

Result = TypeVar("Result")

SWEEP_INTERVAL_S = 5.0
PROBE_INTERVAL_S = 1.0
PROBE_TIMEOUT_S = 2.0
CANNOT_WRITE = "The records cannot be written. Free disk space, or end the process that locks them. Reads still work."
EXPIRIES_PER_SECOND = 3_500  # a backlog of 100,000 takes about half a minute
MIN_EXPIRIES_PER_WRITE = 50
EXPIRIES_PER_QUEUED_WRITE = 1.5  # one request's write takes as long as this many expiries
PRUNED_PER_SECOND = 20_000
MIN_PRUNED_PER_WRITE, MAX_PRUNED_PER_WRITE = 100, 1_000  # about 5 us a row
PRUNED_PER_QUEUED_WRITE = 50


class BatchJob(Protocol):
    """A job that does at most `at_most` things, and returns whether there may be more."""

    def __call__(self, tx: Transaction, /, *, at_most: int) -> bool: ...


class WriteQueue:
    """The writes of one event loop's requests.

    `in_flight` holds the idempotency records that this process is working on; those of other processes
    are visible under the writer's lock.
    """

    def __init__(self, lab: Installation) -> None:
        self.lab = lab
        self.executor = Executor(
            self.write,
            reads_inline=lab.storage.is_sqlite,
            share_reads=lab.share_reads,
            count_waiting=lambda: self._writer.waiting,
        )
        self.long_writes = LongWrites(
            long_write_jobs.perform,
            long_write_jobs.load_installation,
            lab.settings,
            storage=lab.storage,
            clock=lab.clock,
            keep=lambda tx, key, call: kept_results.keep(tx, cast(KeyOfResult, key), call, lab.keyring),
        )
        self.in_flight: set[bytes] = set()
        self.background = Supervisor()
        self._logged_refusals: deque[str] = deque(maxlen=16)
        self._loop = asyncio.get_running_loop()
        self._probe: asyncio.Future[None] | None = None
        self._probed_at = 0.0
        self._writer: GroupCommit = (
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
        self._loop.call_soon_threadsafe(resolve_all, group)

    async def write(self, job: Callable[[Transaction], Result], foresee: Foresee = foresee_nothing) -> Result:
        """Run a job in the next group commit; returns its result when the commit is durable.

        `foresee` names what the job will read, so that the group reads it once.
        """
        future: asyncio.Future[Result] = self._loop.create_future()

        def deliver(result: object, error: BaseException | None) -> None:
            if future.cancelled():
                return
            future.set_result(cast(Result, result)) if error is None else future.set_exception(error)

        self._writer.submit(job, deliver, foresee)
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
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await asyncio.shield(self._probe)
        except Exception as error:
            raise Unavailable(CANNOT_WRITE) from error
        if (commit_error := self.lab.storage.commit_error) is not None:
            raise Unavailable(f"The last commit failed ({cause_of(commit_error)}). {CANNOT_WRITE}") from commit_error

    async def perform(self, request: Request, body: BaseModel | None) -> Response:
        """Execute a write route once: prepare it, run it in a group commit, store its response with its key."""
        key = idempotency.read_key(request, keyring=self.lab.keyring, link_key_of=self.lab.links.share_key)
        if key is None:
            return await self._run(request, body, None)
        if key.record_id in self.in_flight:
            raise RequestInFlight
        self.in_flight.add(key.record_id)
        try:
            return await self._run(request, body, key)
        finally:
            self.in_flight.discard(key.record_id)

    async def _run(self, request: Request, body: BaseModel | None, key: IdempotencyKey | None) -> Response:
        if request.route.is_async:
            return await self._run_async(request, body, key)
        try:
            prepared = await calls.prepare_write(request, body)
        except AttestLabError:
            if key is not None and (stored := await self._recall(key)) is not None:
                return stored  # a completed write keeps its response, even if a retry would now fail
            raise
        job = partial(run_write, request=request, body=body, prepared=prepared, key=key, in_flight=self.in_flight)
        foresee = partial(foresee_write, request, body, prepared, key)
        try:
            written = await self.write_briefly(job, foresee, key=key)
        except AttestLabError:
            if (kept := await self._recall_result(key)) is None:
                raise
            written = await self.write_briefly(
                job, foresee, done=kept
            )  # an earlier try has committed, and lost its answer
        return written.response()

    async def write_briefly(
        self,
        job: Callable[[Transaction], Result],
        foresee: Foresee = foresee_nothing,
        *,
        key: IdempotencyKey | None = None,
        done: DoneCall | KeptCall | None = None,
    ) -> Result:
        """Run a job in the next group commit; what takes long in it runs elsewhere first, without the writer's lock.

        The child process makes a long write, a thread does other long work. Then the job runs again. With a `key` the
        result of the long write is kept until the response is; `done` is a long write that was made already.
        """
        is_worked_off = False
        while True:
            try:
                return await self.write(partial(_run_briefly, job, done, is_worked_off=is_worked_off), foresee)
            except TakesLong as error:
                await asyncio.to_thread(error.work)
                is_worked_off = True
            except TakesLongWrite as error:
                if done is not None:
                    raise
                done = await self._make_long_write(error.call, key)

    async def _make_long_write(self, call: ServiceCall, key: IdempotencyKey | None) -> DoneCall | KeptCall:
        """Have the child process make a call, unless an earlier try of the request has."""
        kept = await self._recall_result(key)
        if kept is not None and kept.is_of(call):
            return kept
        result = await self.long_writes.run_apart(call, key=None if key is None else KeyOfResult.of(key))
        return DoneCall(call, result)

    async def _run_async(self, request: Request, body: BaseModel | None, key: IdempotencyKey | None) -> Response:
        """Run an async route, which writes by itself; its response is stored afterwards."""
        if key is not None and (known := await self._recall(key)) is not None:
            return known
        if key is None:
            return calls.render(request, await calls.run_async(request, body))
        with keep_results(KeyedTry(KeyOfResult.of(key), await self._recall_result(key))):
            answer = calls.render(request, await calls.run_async(request, body))
        return await self.write(lambda tx: store_response(tx, key, answer))

    async def _recall(self, key: IdempotencyKey) -> Response | None:
        def look_up() -> Response | None:
            with self.lab.storage.read() as connection:
                return idempotency.lookup(connection, key)

        return await self.executor.read(look_up)

    async def _recall_result(self, key: IdempotencyKey | None) -> KeptCall | None:
        """Return the long write that an earlier try of a request committed without storing its response."""

        def look_up() -> KeptCall | None:
            with self.lab.storage.read() as connection:
                return None if key is None else kept_results.recall(connection, key, self.lab.keyring)

        return None if key is None else await self.executor.read(look_up)

    async def sweep_forever(self, completed_round: Round, *, every_s: float = SWEEP_INTERVAL_S) -> None:
        """Run periodic work every few seconds: expiries, billing, clean-up, status lists, exports."""
        exports = ExportProcess(self.lab.lake)
        profiles = ProfileUpgrade(self.lab.issuers)
        while True:
            await asyncio.sleep(every_s)
            for part in (
                partial(profiles.run, self.write),
                partial(self.write, self.lab.sweep),
                partial(asyncio.to_thread, self.lab.forget_counts),
                partial(asyncio.to_thread, self.lab.keep_in_touch),
                partial(asyncio.to_thread, self.lab.observe_head),
                self._expire,
                self._keep_trust,
                self._bill,
                self._redact_receipts,
                self._deliver_rest,
                self._prune_risk,
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
        """Make all due expiries permanent, of attestations and of agents."""
        await self._work_off(self.lab.expire, _pace_expiries())
        await self._work_off(self.lab.agents.expire, _pace_expiries())

    async def _keep_trust(self) -> None:
        """Compute the trust scores that are due; without any, no write takes the writer's lock."""
        keeper = self.lab.agents.trust_keeper
        if await asyncio.to_thread(keeper.has_due):
            await self._work_off(keeper.write_due, _pace_expiries())

    async def _redact_receipts(self) -> None:
        """Redact the receipts whose payloads are kept no longer."""
        await self._work_off(self.lab.receipts.redact_outdated, _pace_expiries())

    async def _deliver_rest(self) -> None:
        """Deliver what waits for accounts whose first write delivered only a batch; else no write takes the lock."""
        deliveries = self.lab.deliveries
        while (awaited := await asyncio.to_thread(deliveries.find_rest)) is not None:
            await self._work_off(partial(deliveries.deliver_rest, awaited=awaited), _pace_expiries())

    async def _bill(self) -> None:
        """Publish thresholds and renew subscriptions; without any, no write takes the writer's lock."""
        billing = self.lab.billing
        if found := await asyncio.to_thread(billing.find_thresholds):
            await self.write(partial(billing.publish_thresholds, found=found))
        if await asyncio.to_thread(billing.has_due_renewals):
            while await self.write(billing.renew_due):
                pass

    async def _prune_risk(self) -> None:
        """Delete what risk keeps for some days only."""
        pace = BacklogPacer(
            PRUNED_PER_SECOND,
            min_batch=MIN_PRUNED_PER_WRITE,
            max_batch=MAX_PRUNED_PER_WRITE,
            reduction_per_waiter=PRUNED_PER_QUEUED_WRITE,
        )
        await self._work_off(self.lab.risk.prune, pace)

    async def _work_off(self, job: BatchJob, pace: BacklogPacer) -> None:
        """Run a job in batches that are queued between the writes of requests, until it has no more to do."""
        while await self.write_briefly(partial(job, at_most=pace.batch_size(self._writer.waiting))):
            pass

    async def finish(self) -> None:
        """Write the buffered metering and commit every accepted write."""
        await self.verifications.finish()
        await self.long_writes.aclose()
        await self._writer.aclose()


def _run_briefly(
    job: Callable[[Transaction], Result], done: DoneCall | KeptCall | None, tx: Transaction, *, is_worked_off: bool
) -> Result:
    """Run a job that makes no long write, and does no other long work unless a thread has done that."""
    with refer_long_writes(done), nullcontext() if is_worked_off else forbid_long_work():
        return job(tx)


def _pace_expiries() -> BacklogPacer:
    return BacklogPacer(
        EXPIRIES_PER_SECOND,
        min_batch=MIN_EXPIRIES_PER_WRITE,
        max_batch=MAX_EXPIRIES_PER_WRITE,
        reduction_per_waiter=EXPIRIES_PER_QUEUED_WRITE,
    )


def _consume_error(probe: asyncio.Future[None]) -> None:
    """Retrieve the error of a probe whose checks have timed out, so that asyncio does not log it."""
    if not probe.cancelled():
        probe.exception()
