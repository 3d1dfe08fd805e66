"""Integrity check of receipts: what they disclose has the signed hashes, and their status is that of the log."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, or_, select

from attestlab.attestations.integrity import find_entry_difference
from attestlab.attestations.receipt_content import ReceiptStatus
from attestlab.core.db.tables import iterate
from attestlab.core.encoding import format_time
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType
from attestlab.receipts import store
from attestlab.receipts.tables import ReceiptRecord


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield differences between rows and the log about the status of receipts, as (receipt, problem).

    Rows that are ACTIVE and never changed need no status entry, so they are not read.
    """
    entries_left = log_store.count_of_kind(connection, EntryType.RECEIPT_STATUS)
    columns = store.receipts.c
    changed = or_(columns.status != ReceiptStatus.ACTIVE.value, columns.changed_index.is_not(None))
    query = select(*columns).where(changed).order_by(columns.id).execution_options(yield_per=store.PAGE)
    for row in iterate(connection.execute(query), ReceiptRecord):
        if row.changed_index is not None:
            entries_left -= 1
        if (problem := _find_inconsistency(connection, row)) is not None:
            yield str(row.id), problem
    if entries_left:
        yield "count", f"the log has {entries_left} more status entries than rows that changed"


def _find_inconsistency(connection: Connection, row: ReceiptRecord) -> str | None:
    if row.changed_index is None or row.status == ReceiptStatus.ACTIVE:
        return f"the row's status is {row.status}, but its log index of a change is {row.changed_index}"
    return find_entry_difference(connection, row.changed_index, _expected_members(row))


def _expected_members(row: ReceiptRecord) -> dict[str, object]:
    """Return the members that the status entry of a row must have."""
    reason = row.revocation_reason
    return {
        "type": EntryType.RECEIPT_STATUS.value,
        "id": str(row.id),
        "issuer_id": str(row.issuer_id),
        "minted_index": row.log_index,
        "status": row.status,
        "at": None if row.changed_at is None else format_time(row.changed_at),
        "reason": None if reason is None else entries.sha256_name(entries.reason_commitment(row.nonce, reason)),
    }


def find_contradiction(row: ReceiptRecord) -> str | None:
    """Return what is wrong about what a row discloses: a redacted one discloses nothing, another one everything."""
    disclosed = [value is not None for value in (row.payload, row.subject, row.subject_nonce)]
    if row.redacted_at is None and not all(disclosed):
        return "its payload, subject or nonce is missing, and it was not redacted"
    if row.redacted_at is not None and any((*disclosed, row.extra is not None)):
        return "it was redacted, and still has payload, subject, nonce or metadata"
    return None
