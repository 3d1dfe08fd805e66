"""Status transitions of attestations: log entry, row, event and audit line of each change in one transaction.

Only a VALID attestation changes, its status is read under the writer's lock, and every other
status is final. So each attestation has at most one status entry, the first of its chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.attestations import store
from attestlab.attestations.events import AttestationExpired, AttestationRevoked, AttestationSuperseded
from attestlab.attestations.rules import Status
from attestlab.attestations.tables import AttestationRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.events import Event
from attestlab.core.records import audit, outbox, row_digest
from attestlab.core.records.actors import Actor, SystemActor
from attestlab.core.records.audit import AuditEntry
from attestlab.log import entries
from attestlab.log.entries import FIRST_LINK, EntryType
from attestlab.log.results import SequencedEntry
from attestlab.log.service import Log

_STATUS = EntryType.ATTESTATION_STATUS
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
    """An attestation's new row, and the log entry of the change; `name` is its id as text."""

    name: str
    row: AttestationRecord
    logged: SequencedEntry


def apply_status_change(
    tx: Transaction,
    log: Log,
    rows: Sequence[AttestationRecord],
    change: StatusChange,
    *,
    actor_of: Callable[[UUID], Actor],
) -> list[StatusChanged]:
    """Change the status of VALID attestations, whose rows the caller has read under the writer's lock.

    `actor_of` returns the actor for a tenant's audit trail.
    """
    changed = [_log_change(tx, log, row, change) for row in rows]
    values = [item.row._asdict() for item in changed]
    if changed:
        tx.bulk_update(store.attestations, _CHANGED, values)
    for item, new_values in zip(changed, values, strict=True):
        outbox.publish(tx, item.row.tenant_id, _build_event(item, change), at=change.at)
        audit.record(tx, _build_audit_entry(item, new_values, change, actor_of(item.row.tenant_id)))
    return changed


def _log_change(tx: Transaction, log: Log, row: AttestationRecord, change: StatusChange) -> StatusChanged:
    entry = entries.attestation_status_entry(
        FIRST_LINK,
        attestation_id=row.id,
        issuer_id=row.issuer_id,
        minted_index=row.log_index,
        status=change.status.value,
        at=change.at,
        reason=None if change.reason is None else entries.reason_commitment(row.nonce, change.reason),
        superseded_by=change.successor,
    )
    name = str(row.id)
    logged = log.append(tx, entry, kind=_STATUS, subject=entries.attestation_subject(name))
    new_row = row._replace(
        status=change.status.value,
        superseded_by=change.successor,
        revocation_reason=change.reason,
        revoked_at=change.at if change.status is Status.REVOKED else None,
        changed_index=logged.index,
        changed_at=change.at,
    )
    return StatusChanged(name, new_row, logged)


def _build_event(changed: StatusChanged, change: StatusChange) -> Event:
    ids, log_index = (changed.row.id, changed.row.issuer_id), changed.logged.index
    if change.reason is not None:
        return AttestationRevoked(*ids, log_index, change.at)
    if change.successor is not None:
        return AttestationSuperseded(*ids, change.successor, log_index, change.at)
    assert changed.row.expiry_at is not None  # no other attestation expires
    return AttestationExpired(*ids, changed.row.expiry_at, log_index, change.at)


def _build_audit_entry(
    changed: StatusChanged, new_values: Mapping[str, object], change: StatusChange, actor: Actor
) -> AuditEntry:
    return AuditEntry(
        tenant_id=changed.row.tenant_id,
        actor=actor,
        action=_ACTIONS[change.status],
        resource_type="attestation",
        resource_id=changed.name,
        at=change.at,
        metadata={
            "log_index": changed.logged.index,
            row_digest.METADATA_KEY: row_digest.row_sha256(store.attestations, new_values),
        },
    )
