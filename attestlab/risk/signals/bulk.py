"""Bulk recording: many lines of one request, written in slices between the writes of other requests.

With an Idempotency-Key, the progress is stored in the transaction of each slice. A client that repeats the request
after an interruption records the remaining lines only, also if another process is still recording the first one. All of
them parse the lines as of the moment when the first began, so that they accept the same lines.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Generic, TypeVar

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller
from attestlab.risk.links import may_mention
from attestlab.risk.rules import SIGNAL_THRESHOLD
from attestlab.risk.signals import store
from attestlab.risk.signals.ndjson import Lines, read_signal_lines
from attestlab.risk.signals.recording import NewSignal, record_signals
from attestlab.risk.signals.store import BulkProgressRecord

Row = TypeVar("Row")

# Work is counted in signals that name one entity each and open no case.
LINKING_WORK = 6  # of a signal that names six entities: it writes fifteen links
ESCALATION_WORK = 3
WORK_PER_S = 25_000.0  # of a writer whose writes were not measured yet
MIN_WORK_PER_S, MAX_WORK_PER_S = 4_000.0, 250_000.0
MIN_WORK_MEASURED = 60  # less takes no longer than what surrounds it; a piece of the slowest pace has more
PROGRESS_TTL = timedelta(hours=24)  # as long as an Idempotency-Key is kept


@dataclass(frozen=True)
class BulkOptions:
    """How a request records its rows: a backfill of signals publishes no event and escalates nothing.

    `progress_id` identifies the request if it has an Idempotency-Key.
    """

    is_backfill: bool = False
    progress_id: bytes | None = None


class WritePace:
    """How many rows a write takes that may hold the writer's lock for some time, learnt from the writes before."""

    def __init__(self) -> None:
        self.work_per_s = WORK_PER_S

    def fit(self, works: Sequence[int], time_s: float) -> int:
        """Return how many of the next rows, each with its work, a write takes that may last so long; at least one."""
        left = self.work_per_s * time_s
        for number, work in enumerate(works):
            left -= work
            if left < 0:
                return max(1, number)
        return len(works)

    def learn(self, work: int, took_s: float) -> None:
        """Learn how long some work took; one write counts a quarter, because the machine may have stood still in it."""
        if work < MIN_WORK_MEASURED:
            return
        measured = min(max(MIN_WORK_PER_S, work / took_s), MAX_WORK_PER_S) if took_s else MAX_WORK_PER_S
        self.work_per_s += (measured - self.work_per_s) / 4


class BulkRecording(ABC, Generic[Row]):
    """Records the rows of one request in slices.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock
        self.pace = WritePace()

    def begin(self, options: BulkOptions, tx: Transaction | None = None) -> BulkProgressRecord:
        """Return the progress of a request: when it was sent first, and how many of its rows are recorded."""
        now = self.clock.now()
        if options.progress_id is None:
            return BulkProgressRecord(b"", 0, now)
        with self.storage.write(tx) as tx:
            return store.begin_progress(tx, BulkProgressRecord(options.progress_id, 0, now))

    @abstractmethod
    def read_lines(self, text: bytes, *, began_at: datetime, caller: Caller) -> Lines[Row]:
        """Return the lines of a request, to be parsed batch by batch."""

    @abstractmethod
    def measure_work(self, row: Row) -> int:
        """Return how much work the writer has with a row, in signals that name one entity each and open no case."""

    @abstractmethod
    def record(self, tx: Transaction, rows: Sequence[Row], options: BulkOptions, caller: Caller) -> None:
        """Record the rows of a slice that no process has recorded."""

    def take_slice(self, rows: Sequence[Row], time_s: float) -> Sequence[Row]:
        """Return the next rows that one write takes, of those that are left, if it may last so long."""
        return rows[: self.pace.fit([*map(self.measure_work, rows)], time_s)]

    def record_slice(
        self,
        rows: Sequence[Row],
        done: int,
        options: BulkOptions,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> None:
        """Record the next rows of a request, of which `done` are recorded then.

        Those that another process has recorded in the meantime are left out.
        """
        with self.storage.write(tx) as tx:
            if options.progress_id is not None:
                recorded = store.find_progress(tx.exec, options.progress_id)
                rows = rows[max(0, recorded - (done - len(rows))) :]
            if not rows:
                return
            tx.after_commit(partial(self._measure, tx, rows, monotonic()))
            self.record(tx, rows, options, caller)
            if options.progress_id is not None:
                store.save_progress(tx, options.progress_id, done)

    def _measure(self, tx: Transaction, rows: Sequence[Row], began: float) -> None:
        """Learn how long a write took until its commit, which waits for the disk and leaves the event loop free."""
        self.pace.learn(sum(map(self.measure_work, rows)), tx.completed_at - began)

    def prune(self, tx: Transaction) -> None:
        """Delete the progress of requests that began so long ago that no client will repeat them."""
        store.delete_progress(tx, before=self.clock.now() - PROGRESS_TTL)


class SignalRecording(BulkRecording[NewSignal]):
    """Records the signals of one request in slices."""

    def read_lines(self, text: bytes, *, began_at: datetime, caller: Caller) -> Lines[NewSignal]:
        """Return the lines of a request, to be parsed batch by batch."""
        return read_signal_lines(text, now=began_at, actor_type=caller.actor_type)

    def measure_work(self, row: NewSignal) -> int:
        """Return how much work the writer has with a signal."""
        return measure_work(row)

    def record(self, tx: Transaction, rows: Sequence[NewSignal], options: BulkOptions, caller: Caller) -> None:
        """Record signals; a backfill publishes no event and escalates nothing."""
        record_signals(tx, caller.tenant_id, rows, at=self.clock.now(), is_backfill=options.is_backfill)


def measure_work(signal: NewSignal) -> int:
    """Return how much work the writer has with a signal."""
    linking = LINKING_WORK if may_mention(signal.details) else 1
    return linking + (ESCALATION_WORK if signal.score >= SIGNAL_THRESHOLD else 0)


def identify_request(caller: Caller, key: str, text: bytes) -> bytes:
    """Return the SHA-256 of tenant, Idempotency-Key and body."""
    body = hashlib.sha256(text).hexdigest()
    return hashlib.sha256(f"{caller.tenant_id}\n{key}\n{body}".encode()).digest()
