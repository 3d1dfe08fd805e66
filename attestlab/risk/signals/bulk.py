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
from attestlab.risk.signals.ndjson import RejectedLine, parse_lines
from attestlab.risk.signals.recording import NewSignal, record_signals
from attestlab.risk.signals.tables import BulkProgressRecord

PROGRESS_TTL = timedelta(hours=24)  # as long as an Idempotency-Key is kept
MAX_REPORTED_LINES = 100  # rejected lines that a response lists


@dataclass(frozen=True)
class ParsedLines:
    """The signals of a request, and its rejected lines; `progress_id` identifies the request if it has a key."""

    signals: Sequence[NewSignal]
    rejected: Sequence[RejectedLine]
    progress_id: bytes | None = None


@dataclass(frozen=True)
class SliceOptions:
    """Which signals to record in one write, and how: a backfill publishes no event and escalates nothing."""

    first: int
    count: int
    is_backfill: bool = False


class BulkRecording:
    """Records the signals of one request in slices.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def parse(self, text: bytes, *, key: str | None = None, caller: Caller) -> ParsedLines:
        """Parse NDJSON; takes about 15 us a line.

        Raises:
            ValidationFailed: there are too many lines.
        """
        parsed = list(parse_lines(text, now=self.clock.now()))
        signals = [line for line in parsed if isinstance(line, NewSignal)]
        rejected = [line for line in parsed if isinstance(line, RejectedLine)]
        return ParsedLines(signals, rejected, None if key is None else _progress_id(caller, key, text))

    def count_recorded(self, parsed: ParsedLines) -> int:
        """Return how many signals of the request are recorded already."""
        if parsed.progress_id is None:
            return 0
        with self.storage.read() as connection:
            return store.find_progress(connection.execute, parsed.progress_id)

    def record_slice(
        self, parsed: ParsedLines, options: SliceOptions, caller: Caller, tx: Transaction | None = None
    ) -> int:
        """Record a slice of the signals; returns the number of the next one."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            signals = parsed.signals[options.first : options.first + options.count]
            record_signals(tx, caller.tenant_id, signals, at=now, is_backfill=options.is_backfill)
            done = options.first + len(signals)
            if parsed.progress_id is not None:
                store.save_progress(tx, BulkProgressRecord(parsed.progress_id, done, now))
            return done

    def sweep(self, tx: Transaction) -> None:
        """Delete the progress of requests that no client will repeat; a running server calls this regularly."""
        store.delete_progress(tx, before=self.clock.now() - PROGRESS_TTL)


def _progress_id(caller: Caller, key: str, text: bytes) -> bytes:
    """Return the SHA-256 of tenant, Idempotency-Key and body."""
    body = hashlib.sha256(text).hexdigest()
    return hashlib.sha256(f"{caller.tenant_id}\n{key}\n{body}".encode()).digest()
