"""What of the log goes into a bundle: the entry of the mint, of its end, of its key, and the newest status list."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from attestlab.core.db.transaction import AnyRow
from attestlab.core.errors import IntegrityFailed
from attestlab.log import entries, store
from attestlab.log.results import InclusionProof, SignedHead
from attestlab.log.service import Log
from attestlab.log.status.publisher import StatusListPublisher
from attestlab.log.status.status_list import Chunk
from attestlab.log.store import LeafRow


@dataclass(frozen=True)
class LoggedEntry:
    """An entry with the proof that it is in the log."""

    entry: bytes
    proof: InclusionProof


@dataclass(frozen=True)
class LogProofs:
    """Everything of the log that speaks of one attestation, under one tree head.

    `change` is how it ended; `key` and `issuer` are each the first entry of its chain and the newest,
    or the one that revoked the issuer; `listed` is the newest status list, if it covers all
    three, with the chunks that hold them.
    """

    inclusion: InclusionProof
    change: LoggedEntry | None
    key: tuple[LoggedEntry, LoggedEntry]
    issuer: tuple[LoggedEntry, LoggedEntry]
    listed: tuple[LoggedEntry, tuple[Chunk, ...]] | None


def collect_proofs(
    connection: Connection, log: Log, lists: StatusListPublisher, row: AnyRow
) -> tuple[LogProofs, SignedHead]:
    """The proofs of an attestation's row, and the head that proves all of them best.

    A status list that is newer than a head which witnesses signed is left out: it says what is in the log
    already, and witnesses say what the log has shown to everybody.

    Raises:
        IntegrityFailed: the log lacks what the row speaks of.
    """
    key = _find_first_and_newest(connection, entries.key_subject(row.issuer_id, row.kid))
    issuer = _find_first_and_newest(connection, entries.issuer_subject(row.issuer_id))
    if row.revoked_index is not None:
        issuer = (issuer[0], _get_leaf(connection, row.revoked_index))
    head = log.head_covering(connection, max(row.log_index, row.changed_index or 0, key[1].index, issuer[1].index))

    def logged(leaf: LeafRow) -> LoggedEntry:
        return LoggedEntry(leaf.entry, log.inclusion(connection, leaf.index, head.size))

    found = lists.newest_covering(connection, row.log_index, key[0].index, issuer[0].index)
    if found is not None and found.leaf.index >= head.size:
        found = None
    proofs = LogProofs(
        inclusion=log.inclusion(connection, row.log_index, head.size),
        change=None if row.changed_index is None else logged(_get_leaf(connection, row.changed_index)),
        key=(logged(key[0]), logged(key[1])),
        issuer=(logged(issuer[0]), logged(issuer[1])),
        listed=None if found is None else (logged(found.leaf), found.chunks),
    )
    return proofs, head


def _find_first_and_newest(connection: Connection, subject: str) -> tuple[LeafRow, LeafRow]:
    """The first and the newest entry of a subject."""
    first, newest = store.first_of_subject(connection, subject), store.newest_of_subject(connection, subject)
    if first is None or newest is None:
        raise IntegrityFailed(f"The log has no entry of {subject}; run `attestlab log fsck`.")
    return first, newest


def _get_leaf(connection: Connection, index: int) -> LeafRow:
    found = store.leaf_rows(connection, index, 1)
    if not found:
        raise IntegrityFailed(f"The log has no entry {index}; run `attestlab log fsck`.")
    return found[0]
