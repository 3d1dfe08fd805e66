"""Accepting the head of restored records: the operator inspects the head, then confirms it.

The head guard decides whether the log may sign. If its file is missing, or holds a head
that the records do not contain, only an operator can decide whether these records are
the ones to continue; until then nothing is signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, HeadGuardMismatch, Unavailable
from attestlab.log import store
from attestlab.log.entries import sha256_name
from attestlab.log.head_guard import HeadGuard
from attestlab.log.merkle.committed_tree import TreeCache
from attestlab.log.note.note import TreeHead
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.tables import LogLeafRecord

NEWEST_ENTRIES = 5


@dataclass(frozen=True)
class RestoredHead:
    """The head of the records, and the guard's objection to it; None if the guard has none."""

    head: TreeHead
    at: datetime
    newest: list[LogLeafRecord]
    objection: str | None

    def public(self) -> dict[str, object]:
        """The object that `attestlab log accept-head` prints."""
        return {
            "origin": self.head.origin,
            "size": self.head.size,
            "root_hash": sha256_name(self.head.root),
            "signed_at": format_time(self.at),
            "newest_entries": [
                {"index": row.index, "type": row.kind, "subject": row.subject} for row in reversed(self.newest)
            ],
            "objection": self.objection,
        }


def examine_head(connection: Connection, guard: HeadGuard) -> RestoredHead:
    """Read the head of the records, verify its signature and root, and compare it with the guard.

    Raises:
        IntegrityFailed: the stored entries do not have the root that was signed.
        SignatureInvalid: this log's key did not sign the newest checkpoint.
        Unavailable: the records hold no log, or the guard cannot currently be read.
    """
    row = store.head(connection)
    if row is None:
        raise Unavailable("The records hold no log yet; run `attestlab init`.")
    head = TreeHead(row.origin, row.size, row.root)
    return RestoredHead(
        head,
        _signed_time(connection, head, row.vkey),
        store.leaf_rows(connection, max(0, head.size - NEWEST_ENTRIES), NEWEST_ENTRIES),
        _guard_objection(connection, guard, head),
    )


def accept_head(tx: Transaction, guard: HeadGuard, head: TreeHead) -> None:
    """Make the guard continue from `head`; runs under the writer's lock, so that the head cannot move.

    Raises:
        Conflict: the head of the records has changed since it was examined.
        OSError: the guard cannot be written; nothing was accepted.
    """
    row = store.lock_head(tx.read_unflushed)
    if row is None or TreeHead(row.origin, row.size, row.root) != head:
        raise Conflict(
            "The log grew during the check and nothing was accepted. Run the command again and inspect the new head."
        )
    guard.accept(head)


def _signed_time(connection: Connection, head: TreeHead, vkey: str) -> datetime:
    TreeCache().tree_of(connection, head)
    signed = store.checkpoint(connection, head.size)
    checkpoint = None if signed is None else TrustPolicy.without_witnesses(vkey).verify_checkpoint(signed.note)
    if checkpoint is None or (checkpoint.size, checkpoint.root) != (head.size, head.root):
        raise Unavailable(f"The checkpoint of size {head.size} is missing; run `attestlab log fsck`.")
    return datetime.fromtimestamp(checkpoint.timestamp_s or 0, UTC)


def _guard_objection(connection: Connection, guard: HeadGuard, head: TreeHead) -> str | None:
    memory = TreeCache()
    try:
        guard.require_continues(head, lambda size: memory.reader(connection, head, size).root)
    except HeadGuardMismatch as error:
        return error.message
    return None
