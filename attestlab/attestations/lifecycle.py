"""Status transitions of attestations: log entry, row, event and audit line of each change in one transaction.

Only a VALID attestation changes, its status is read under the writer's lock, and every other
status is final. So each attestation has at most one status entry, the first of its chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, and_, not_, select

from attestlab.attestations import store
from attestlab.attestations.events import AttestationExpired, AttestationRevoked, AttestationSuperseded
from attestlab.attestations.rules import Status
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import AttestLabError
from attestlab.core.events import Event
from attestlab.core.records import audit, outbox, row_digest
from attestlab.core.records.actors import Actor, SystemActor
from attestlab.core.records.audit import AuditEntry
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.entries import FIRST_LINK, EntryType
from attestlab.log.service import Log, SequencedEntry

_STATUS = EntryType.ATTESTATION_STATUS
_COLUMNS = tuple(column.name for column in store.attestations.c)
_CHANGED = ("status", "changed_index", "changed_at", "revoked_at", "revocation_reason", "superseded_by")
_ACTIONS = {
    Status.REVOKED: "attestation.revoke",
    Status.SUPERSEDED: "attestation.supersede",
    Status.EXPIRED: "attestation.expire",
}
TIMEKEEPER = SystemActor("timekeeper")  # makes expiries permanent


@dataclass(frozen=True)
class StatusChange:
    """A status transition and its time; a revocation has a reason, a supersession has a successor."""

    status: Status
    at: datetime
    reason: str | None = None
    successor: UUID | None = None


class StatusChanged(NamedTuple):
    """An attestation's new row, by column, and the log entry of the change; `name` is its id as text."""

    name: str
    row: dict[str, Any]
    logged: SequencedEntry


def apply_status_change(
    tx: Transaction, log: Log, rows: Sequence[AnyRow], change: StatusChange, *, actor_of: Callable[[UUID], Actor]
) -> list[StatusChanged]:
    """Change the status of VALID attestations, whose rows the caller has read in full under the writer's lock.

    `actor_of` returns the actor for a tenant's audit trail.
    """
    new_values = _changed_columns(change)
    changed = [_log_and_update(tx, log, row, change, new_values) for row in rows]
    if changed:
        tx.bulk_update(store.attestations, _CHANGED, [item.row for item in changed])
    for item in changed:
        _publish_and_audit(tx, item, change, actor_of(item.row["tenant_id"]))
    return changed


def _changed_columns(change: StatusChange) -> dict[str, Any]:
    """Return the column values that are the same for every attestation of this change."""
    return {
        "status": change.status.value,
        "changed_at": change.at,
        "revoked_at": change.at if change.status is Status.REVOKED else None,
        "revocation_reason": change.reason,
        "superseded_by": change.successor,
    }


def _log_and_update(
    tx: Transaction, log: Log, row: AnyRow, change: StatusChange, new_values: dict[str, Any]
) -> StatusChanged:
    commitment = None if change.reason is None else entries.reason_commitment(row.nonce, change.reason)
    entry = entries.attestation_status_entry(
        FIRST_LINK,
        attestation_id=row.id,
        issuer_id=row.issuer_id,
        minted_index=row.log_index,
        status=new_values["status"],
        at=change.at,
        reason=commitment,
        superseded_by=change.successor,
    )
    name = str(row.id)
    logged = log.append(tx, entry, kind=_STATUS, subject=entries.attestation_subject(name))
    new_row = dict(zip(_COLUMNS, row, strict=True))
    new_row.update(new_values, changed_index=logged.index)
    return StatusChanged(name, new_row, logged)


def _publish_and_audit(tx: Transaction, changed: StatusChanged, change: StatusChange, actor: Actor) -> None:
    row = changed.row
    outbox.publish(tx, row["tenant_id"], _build_event(row, change), at=change.at)
    entry = AuditEntry(
        tenant_id=row["tenant_id"],
        actor=actor,
        action=_ACTIONS[change.status],
        resource_type="attestation",
        resource_id=changed.name,
        at=change.at,
        metadata={
            "log_index": changed.logged.index,
            row_digest.METADATA_KEY: row_digest.row_sha256(store.attestations, row),
        },
    )
    audit.record(tx, entry)


def _build_event(row: dict[str, Any], change: StatusChange) -> Event:
    ids, log_index = (row["id"], row["issuer_id"]), row["changed_index"]
    if change.reason is not None:
        return AttestationRevoked(*ids, log_index, change.at)
    if change.successor is not None:
        return AttestationSuperseded(*ids, change.successor, log_index, change.at)
    return AttestationExpired(*ids, row["expiry_at"], log_index, change.at)


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
    for row in connection.execute(query):
        if row.changed_index is not None:
            entries_left -= 1
        if (problem := _find_inconsistency(connection, row)) is not None:
            yield str(row.id), problem
    if entries_left:
        yield "count", f"the log has {entries_left} more status entries than rows that changed"


def _find_inconsistency(connection: Connection, row: AnyRow) -> str | None:
    if (Status(row.status) is Status.VALID) != (row.changed_index is None):
        return f"the row's status is {row.status}, but its log index of a change is {row.changed_index}"
    if row.supersedes is not None and not store.is_superseded_by(connection, row.supersedes, row.id):
        return f"the attestation {row.supersedes} that it supersedes does not name it as successor"
    if row.changed_index is None:
        return None
    leaves = log_store.leaf_rows(connection, row.changed_index, 1)
    try:
        members = entries.parse_entry(leaves[0].entry).members if leaves else {}
    except AttestLabError as error:
        return error.message
    wrong = [name for name, value in _expected_members(row).items() if members.get(name) != value]
    return f"its status entry differs in {', '.join(wrong)}" if wrong else None


def _expected_members(row: AnyRow) -> dict[str, object]:
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
