"""How attestations end: log entry, row, event and audit line of each change, in one transaction.

What ends is VALID, and looked at under the writer's lock; nothing ends twice. So each
attestation has at most one status entry, the first of its chain.
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
from attestlab.core.errors import AttestLabError
from attestlab.core.events import Event
from attestlab.core.records import audit, outbox, row_digest
from attestlab.core.records.audit import Actor, AuditEntry
from attestlab.core.strict_json import format_time
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


@dataclass(frozen=True)
class StatusChange:
    """What becomes of an attestation, and when; a revocation has a reason, a supersession a successor."""

    status: Status
    at: datetime
    reason: str | None = None
    successor: UUID | None = None


@dataclass(frozen=True)
class Timekeeper:
    """Who makes expiries permanent: the service itself, on nobody's behalf."""

    actor_type: str = "SERVICE"
    actor_id: str = "timekeeper"


class StatusChanged(NamedTuple):
    """An attestation's row as it is now, by column, and the entry that says so; `name` is its id as text."""

    name: str
    row: dict[str, Any]
    logged: SequencedEntry


def apply_status_change(
    tx: Transaction, log: Log, found: Sequence[AnyRow], change: StatusChange, *, actor_of: Callable[[UUID], Actor]
) -> list[StatusChanged]:
    """Let VALID attestations, read whole under the writer's lock, become what `change` says; `actor_of` a tenant."""
    now = _changed_columns(change)
    ended = [_log_and_update(tx, log, row, change, now) for row in found]
    if ended:
        tx.bulk_update(store.attestations, _CHANGED, [done.row for done in ended])
    for done in ended:
        _publish_and_audit(tx, done, change, actor_of(done.row["tenant_id"]))
    return ended


def _changed_columns(change: StatusChange) -> dict[str, Any]:
    """The columns that the same change gives the same values."""
    return {
        "status": change.status.value,
        "changed_at": change.at,
        "revoked_at": change.at if change.status is Status.REVOKED else None,
        "revocation_reason": change.reason,
        "superseded_by": change.successor,
    }


def _log_and_update(tx: Transaction, log: Log, row: AnyRow, change: StatusChange, now: dict[str, Any]) -> StatusChanged:
    commit = None if change.reason is None else entries.reason_commitment(row.nonce, change.reason)
    entry = entries.attestation_status_entry(
        FIRST_LINK,
        attestation_id=row.id,
        issuer_id=row.issuer_id,
        minted_index=row.log_index,
        status=now["status"],
        at=change.at,
        reason=commit,
        superseded_by=change.successor,
    )
    name = str(row.id)
    logged = log.append(tx, entry, kind=_STATUS, subject=entries.attestation_subject(name))
    ended = dict(zip(_COLUMNS, row, strict=True))
    ended.update(now, changed_index=logged.index)
    return StatusChanged(name, ended, logged)


def _publish_and_audit(tx: Transaction, done: StatusChanged, change: StatusChange, actor: Actor) -> None:
    row = done.row
    outbox.publish(tx, row["tenant_id"], _build_event(row, change), at=change.at)
    entry = AuditEntry(
        tenant_id=row["tenant_id"],
        actor=actor,
        action=_ACTIONS[change.status],
        resource_type="attestation",
        resource_id=done.name,
        at=change.at,
        metadata={
            "log_index": done.logged.index,
            row_digest.METADATA_KEY: row_digest.row_sha256(store.attestations, row),
        },
    )
    audit.record(tx, entry)


def _build_event(row: dict[str, Any], change: StatusChange) -> Event:
    who, where = (row["id"], row["issuer_id"]), row["changed_index"]
    if change.reason is not None:
        return AttestationRevoked(*who, where, change.at)
    if change.successor is not None:
        return AttestationSuperseded(*who, change.successor, where, change.at)
    return AttestationExpired(*who, row["expiry_at"], where, change.at)


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Where rows and the log tell differently how attestations ended, as (attestation, what is wrong).

    A row that is VALID, was never changed and supersedes none agrees with a log that does not mention it.
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
        if (fault := _find_inconsistency(connection, row)) is not None:
            yield str(row.id), fault
    if entries_left:
        yield "count", f"the log tells of {entries_left} ends more than the rows do"


def _find_inconsistency(connection: Connection, row: AnyRow) -> str | None:
    if (Status(row.status) is Status.VALID) != (row.changed_index is None):
        return f"it is {row.status}, which the log does not tell"
    if row.supersedes is not None and not store.is_superseded_by(connection, row.supersedes, row.id):
        return "what it says to supersede was not superseded by it"
    if row.changed_index is None:
        return None
    found = log_store.leaf_rows(connection, row.changed_index, 1)
    try:
        said = entries.parse_entry(found[0].entry).members if found else {}
    except AttestLabError as error:
        return error.message
    wrong = [name for name, value in _expected_members(row).items() if said.get(name) != value]
    return f"its status entry says otherwise about {', '.join(wrong)}" if wrong else None


def _expected_members(row: AnyRow) -> dict[str, object]:
    """What the status entry of a row must say."""
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
