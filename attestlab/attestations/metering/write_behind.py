"""Write-behind of verifications: a group commit writes the usage soon after the client got its response.

A crash loses the verifications answered in the last WRITE_INTERVAL_S and not yet written. While
writes fail (a full disk, a locked database), the verifications stay here in bounded memory, and
are retried. A failed batch is retried only if it was certainly not committed: a tenant is never
charged twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from attestlab.attestations.metering import service as metering
from attestlab.attestations.metering.service import MeteredVerification, UnwrittenVerifications
from attestlab.core.db.group_commit import Job
from attestlab.core.db.storage import CommitUnknown
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable

WRITE_INTERVAL_S = 0.08  # a group commit in progress may double the delay
RETRY_INTERVAL_S = 1.0
MAX_EVENTS_PER_JOB = 200  # takes a few milliseconds of the event loop

Submit = Callable[[Job, Callable[[object, BaseException | None], None]], None]


class WriteBehind:
    """Submits verifications to the group commit of one event loop, which calls every method.

    `fails_certainly` means that a commit that raised was not committed, as on SQLite for every process
    that keeps running. `failed` is called with the first error of an outage.
    """

    def __init__(self, submit: Submit, *, fails_certainly: bool, failed: Callable[[BaseException], None]) -> None:
        self._submit = submit
        self._fails_certainly = fails_certainly
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._pending = UnwrittenVerifications()
        self._timer: asyncio.TimerHandle | None = None
        self._batch: _Batch | None = None
        self._is_failing = False
        self._is_finishing = False
        self._idle = asyncio.Event()

    def add(self, verified: MeteredVerification) -> None:
        """Add an answered verification."""
        self._pending.add(verified)
        self._flush_after(WRITE_INTERVAL_S)

    async def finish(self) -> None:
        """Write the pending verifications; those that cannot be written now are lost when the process ends."""
        self._is_finishing = True
        self._flush()
        if self._batch is not None:
            await self._idle.wait()

    def _flush_after(self, delay_s: float) -> None:
        if self._timer is None and self._batch is None:
            self._timer = self._loop.call_later(delay_s, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._batch is None and not self._pending.is_empty:
            batch = self._batch = _Batch(self._pending.split(MAX_EVENTS_PER_JOB))
            try:
                self._submit(batch.write, self._settle)
            except Unavailable as error:
                self._settle(None, error)

    def _settle(self, _result: object, error: BaseException | None) -> None:
        """Handle the result of a batch: put it back if it was certainly not committed, and schedule the next."""
        batch, self._batch = self._batch, None
        if batch is not None and error is not None and not self._may_be_written(batch, error):
            self._pending.merge(batch.pending)
        if error is not None and not self._is_failing:
            self._failed(error)
        self._is_failing = error is not None
        self._continue()

    def _may_be_written(self, batch: _Batch, error: BaseException) -> bool:
        return batch.is_committed or (isinstance(error, CommitUnknown) and not self._fails_certainly)

    def _continue(self) -> None:
        if self._is_finishing and (self._is_failing or self._pending.is_empty):
            self._idle.set()
        elif self._is_failing:
            self._flush_after(RETRY_INTERVAL_S)
        elif not self._pending.is_empty:
            self._flush_after(0 if self._is_finishing else WRITE_INTERVAL_S)


class _Batch:
    """Submitted verifications; an after-commit callback records that they were written."""

    def __init__(self, pending: UnwrittenVerifications) -> None:
        self.pending = pending
        self.is_committed = False

    def write(self, tx: Transaction) -> None:
        metering.record(tx, self.pending)
        tx.after_commit(self._note_committed)

    def _note_committed(self) -> None:
        self.is_committed = True
