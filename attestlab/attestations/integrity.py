"""Integrity check of attestations: the status of every row agrees with its log entry, and every change has a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, and_, not_, select

from attestlab.attestations import store
from attestlab.attestations.rules import Status
from attestlab.attestations.tables import AttestationRecord
from attestlab.core.db.tables import iterate
from attestlab.core.encoding import format_time
from attestlab.core.errors import AttestLabError
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield differences between rows and the log about the status of attestations, as (attestation, problem).

    Rows that are VALID, never changed and supersede none need no status entry, so they are not read.
    """
    entries_left = log_store.count_of_kind(connection, EntryType.ATTESTATION_STATUS)
    columns = store.attestations.c
    unchanged = and_(
        columns.status == Status.VALID.value, columns.changed_index.is_(None), columns.supersedes.is_(None)
    )
    query = select(store.attestations).where(not_(unchanged)).order_by(columns.id).execution_options(yield_per=500)
    for row in iterate(connection.execute(query), AttestationRecord):
        if row.changed_index is not None:
            entries_left -= 1
        if (problem := _find_inconsistency(connection, row)) is not None:
            yield str(row.id), problem
    if entries_left:
        yield "count", f"the log has {entries_left} more status entries than rows that changed"


def _find_inconsistency(connection: Connection, row: AttestationRecord) -> str | None:
    if (Status(row.status) is Status.VALID) != (row.changed_index is None):
        return f"the row's status is {row.status}, but its log index of a change is {row.changed_index}"
    if row.supersedes is not None and not store.is_superseded_by(connection, row.supersedes, row.id):
        return f"the attestation {row.supersedes} that it supersedes does not name it as successor"
    if row.changed_index is None:
        return None
    return find_entry_difference(connection, row.changed_index, _expected_members(row))


def find_entry_difference(connection: Connection, index: int, expected: Mapping[str, object]) -> str | None:
    """Return in which members the status entry at an index differs from what the row of its record says."""
    leaves = log_store.leaf_rows(connection, index, 1)
    try:
        members = entries.parse_entry(leaves[0].entry).members if leaves else {}
    except AttestLabError as error:
        return error.message
    wrong = [name for name, value in expected.items() if members.get(name) != value]
    return f"its status entry differs in {', '.join(wrong)}" if wrong else None


def _expected_members(row: AttestationRecord) -> dict[str, object]:
    """Return the members that the status entry of a row must have."""
    reason = row.revocation_reason
    return {
        "type": EntryType.ATTESTATION_STATUS.value,
        "id": str(row.id),
        "issuer_id": str(row.issuer_id),
        "minted_index": row.log_index,
        "status": row.status,
        "at": None if row.changed_at is None else format_time(row.changed_at),
        "reason": None if reason is None else entries.sha256_name(entries.reason_commitment(row.nonce, reason)),
        "superseded_by": None if row.superseded_by is None else str(row.superseded_by),
    }
