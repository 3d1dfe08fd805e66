"""Log proofs of a bundle: entries of the mint, the status changes, the key and the issuer, and the status list."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.rules import RECEIPT, RecordKind
from attestlab.core.errors import IntegrityFailed
from attestlab.log import entries, store
from attestlab.log.results import InclusionProof, SignedHead
from attestlab.log.service import Log
from attestlab.log.status.publisher import PublishedList, StatusListPublisher
from attestlab.log.tables import LogLeafRecord


@dataclass(frozen=True)
class LoggedEntry:
    """A log entry with its inclusion proof."""

    entry: bytes
    proof: InclusionProof


@dataclass(frozen=True)
class LogProofs:
    """Log entries about one attestation or receipt, all proven under one tree head.

    `change` is the record's status entry, if there is one. `key` and `issuer` are each the first
    entry of the chain and the newest, or for a revoked issuer the entry that revoked it; `profile` is
    then the newest, if there is a newer one. `listed` is the newest status list that covers all three,
    with its chunks that contain them.
    """

    inclusion: InclusionProof
    change: LoggedEntry | None
    key: tuple[LoggedEntry, LoggedEntry]
    issuer: tuple[LoggedEntry, LoggedEntry]
    profile: LoggedEntry | None
    listed: tuple[LoggedEntry, PublishedList] | None


def collect_proofs(
    connection: Connection, log: Log, lists: StatusListPublisher, stored: RecordEvidence, kind: RecordKind
) -> tuple[LogProofs, SignedHead]:
    """Collect the log proofs of a record, and the tree head that proves them, cosigned if possible.

    A status list newer than the cosigned head is omitted: the list only repeats entries of the log, whereas the
    cosignatures show that the log presents the same entries to all readers.

    Raises:
        IntegrityFailed: the log lacks an entry that the rows refer to.
    """
    row = stored.row
    key = _find_first_and_newest(connection, entries.key_subject(row.issuer_id, row.kid))
    issuer = _find_first_and_newest(connection, entries.issuer_subject(row.issuer_id))
    named = issuer[1]
    if stored.issuer is not None and stored.issuer.revoked_index is not None:
        issuer = (issuer[0], _get_leaf(connection, stored.issuer.revoked_index))
    head = log.head_covering(connection, max(row.log_index, row.changed_index or 0, key[1].index, named.index))

    def prove(leaf: LogLeafRecord) -> LoggedEntry:
        return LoggedEntry(leaf.entry, log.inclusion(connection, leaf.index, head.size))

    chained = (key[0].index, issuer[0].index)
    if kind is RECEIPT:
        found = lists.newest_covering(connection, *chained, receipt=row.log_index)
    else:
        found = lists.newest_covering(connection, row.log_index, *chained)
    if found is not None and found.leaf.index >= head.size:
        found = None
    proofs = LogProofs(
        inclusion=log.inclusion(connection, row.log_index, head.size),
        change=None if row.changed_index is None else prove(_get_leaf(connection, row.changed_index)),
        key=(prove(key[0]), prove(key[1])),
        issuer=(prove(issuer[0]), prove(issuer[1])),
        profile=None if named.index == issuer[1].index else prove(named),
        listed=None if found is None else (prove(found.leaf), found),
    )
    return proofs, head


def _find_first_and_newest(connection: Connection, subject: str) -> tuple[LogLeafRecord, LogLeafRecord]:
    """Find the first and the newest entry of a subject.

    Raises:
        IntegrityFailed: the log has no entry of the subject.
    """
    first, newest = store.first_of_subject(connection, subject), store.newest_of_subject(connection, subject)
    if first is None or newest is None:
        raise IntegrityFailed(f"The log has no entry of {subject}; run `attestlab log fsck`.")
    return first, newest


def _get_leaf(connection: Connection, index: int) -> LogLeafRecord:
    leaves = store.leaf_rows(connection, index, 1)
    if not leaves:
        raise IntegrityFailed(f"The log has no entry {index}; run `attestlab log fsck`.")
    return leaves[0]
