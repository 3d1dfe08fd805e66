"""Bulk recording of signals: many lines of one request, written in slices between the writes of other requests.

With an Idempotency-Key, the progress is stored in the transaction of each slice. A client that repeats the request
after an interruption records the remaining lines only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller
from attestlab.risk.signals import store
from attestlab.risk.signals.ndjson import SignalLines
from attestlab.risk.signals.recording import NewSignal, record_signals
from attestlab.risk.signals.tables import BulkProgressRecord

PROGRESS_TTL = timedelta(hours=24)  # as long as an Idempotency-Key is kept


@dataclass(frozen=True)
class BulkOptions:
    """How a request records its signals: a backfill publishes no event and escalates nothing.

    `progress_id` identifies the request if it has an Idempotency-Key.
    """

    is_backfill: bool = False
    progress_id: bytes | None = None


class BulkRecording:
    """Records the signals of one request in slices.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def read_lines(self, text: bytes) -> SignalLines:
        """Return the lines of a request, to be parsed batch by batch."""
        return SignalLines(text, now=self.clock.now())

    def count_recorded(self, options: BulkOptions) -> int:
        """Return how many signals of the request are recorded already."""
        if options.progress_id is None:
            return 0
        with self.storage.read() as connection:
            return store.find_progress(connection.execute, options.progress_id)

    def record_slice(
        self,
        signals: Sequence[NewSignal],
        done: int,
        options: BulkOptions,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> None:
        """Record the next signals of a request, of which `done` will be recorded then."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            record_signals(tx, caller.tenant_id, signals, at=now, is_backfill=options.is_backfill)
            if options.progress_id is not None:
                store.save_progress(tx, BulkProgressRecord(options.progress_id, done, now))

    def prune(self, tx: Transaction) -> None:
        """Delete the progress of requests that no client will repeat."""
        store.delete_progress(tx, before=self.clock.now() - PROGRESS_TTL)


def identify_request(caller: Caller, key: str, text: bytes) -> bytes:
    """Return the SHA-256 of tenant, Idempotency-Key and body."""
    body = hashlib.sha256(text).hexdigest()
    return hashlib.sha256(f"{caller.tenant_id}\n{key}\n{body}".encode()).digest()
