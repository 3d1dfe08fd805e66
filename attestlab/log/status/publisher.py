"""Publisher of status lists: appends their digests to the log, and provides chunks for proof bundles.

Once a minute, if the log has grown, the publisher appends the digest of its status list. A process
caches the list that it computed last, so that the next one needs only the entries logged since.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import parse_time
from attestlab.log import entries, store
from attestlab.log.entries import STATUS_LIST_SUBJECT, EntryType
from attestlab.log.results import SequencedEntry
from attestlab.log.service import Log
from attestlab.log.status.status_list import Chunk, StatusList
from attestlab.log.tables import LogLeafRecord

LIST_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True)
class PublishedList:
    """The log entry of the newest status list, and its chunks that hold the requested indexes.

    `receipt_chunk` is the one of a receipt, if one was requested.
    """

    leaf: LogLeafRecord
    chunks: tuple[Chunk, ...]
    receipt_chunk: Chunk | None = None


class StatusListPublisher:
    """Publishes the status lists of one log. Lists are computed from the log entries and never stored."""

    def __init__(self, *, storage: Storage, log: Log, clock: Clock) -> None:
        self.storage = storage
        self.log = log
        self.clock = clock
        self._newest = StatusList()  # from which the next one grows
        self._newest_logged = StatusList()  # the newest that is in the log, of which bundles hold chunks
        self._lock = Lock()

    def warm(self) -> None:
        """Compute the list of the current log without the writer's lock, so that little work is left under the lock."""
        with self.storage.read() as connection:
            computed = self.list_of(connection, self.log.size(connection))
        with self._lock:
            self._newest = max(self._newest, computed, key=lambda known_list: known_list.size)

    def append_if_due(self, tx: Transaction) -> SequencedEntry | None:
        """Append the digest of the list, if the log has grown and the last list is a minute old."""
        now = self.clock.now()
        if not self._is_due(tx.connection, now):
            return None
        size, pending = self.log.pending_entries(tx)
        computed = self.list_of(tx.connection, size).copy()
        for appended in pending:
            computed.apply(appended.index, entries.parse_entry(appended.entry))
        entry = entries.status_list_entry(
            self.log.next_status_link(tx, STATUS_LIST_SUBJECT),
            size=computed.size,
            digest=computed.digest(),
            receipts_digest=computed.receipts.digest(),
            at=now,
        )
        return self.log.append(tx, entry, kind=EntryType.STATUS_LIST, subject=STATUS_LIST_SUBJECT)

    def _is_due(self, connection: Connection, now: datetime) -> bool:
        size, newest = self.log.size(connection), store.newest_of_subject(connection, STATUS_LIST_SUBJECT)
        if newest is None:
            founded = store.checkpoint(connection, 0)
            return size > 0 and founded is not None and now - founded.at >= LIST_INTERVAL
        # A list with a future time comes from a wrong clock; waiting for its time would stop all lists until then.
        return size > newest.index + 1 and abs(now - _list_time(newest)) >= LIST_INTERVAL

    def newest_covering(
        self, connection: Connection, *indexes: int, receipt: int | None = None
    ) -> PublishedList | None:
        """The newest list with its chunks for these entries; None if the list does not cover one of them yet.

        `receipt` is the index of a receipt, which a list of an earlier version does not cover.
        """
        newest = store.newest_of_subject(connection, STATUS_LIST_SUBJECT)
        if newest is None or max(*indexes, receipt or 0) >= newest.index:
            return None
        if receipt is not None and "receipts_digest" not in entries.parse_entry(newest.entry).members:
            return None
        found = self.list_of(connection, newest.index)
        with self._lock:
            self._newest_logged = max(self._newest_logged, found, key=lambda known_list: known_list.size)
        chunks = {chunk.number: chunk for chunk in map(found.chunk_of, indexes)}
        of_receipt = None if receipt is None else found.receipts.chunk_of(receipt)
        return PublishedList(newest, tuple(chunks.values()), of_receipt)

    def list_of(self, connection: Connection, size: int) -> StatusList:
        """The list of the first `size` entries, which must be committed; callers must not change it."""
        with self._lock:
            known = [known_list for known_list in (self._newest, self._newest_logged) if known_list.size <= size]
        found = max(known, key=lambda known_list: known_list.size, default=StatusList())
        if found.size == size:
            return found
        found = found.copy()
        for leaf in store.status_leaves_between(connection, found.size, size):
            found.apply(leaf.index, entries.parse_entry(leaf.entry))
        found.grow(size)
        return found


def _list_time(leaf: LogLeafRecord) -> datetime:
    return parse_time(str(entries.parse_entry(leaf.entry).members["at"]))
