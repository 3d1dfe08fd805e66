"""The audit trail: who did what to which resource, hash-chained per tenant.

An entry is written in the transaction that it records; if it cannot be written, the
operation does not happen. `metadata.row_sha256` is the digest of the row after the change,
so that a row changed outside the service is detected.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.crypto.canonical_json import canonical_trusted
from attestlab.core.db.tables import model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Foreseen, Transaction
from attestlab.core.encoding import format_time
from attestlab.core.ids import new_id
from attestlab.core.records.actors import Actor
from attestlab.core.records.hash_chain import HEADS, Chain, open_chains, save_chains

AuditOutcome = Literal["SUCCESS", "FAILURE"]


@dataclass(slots=True)  # not frozen: creating a frozen instance takes four times as long
class AuditEntry:
    """An entry of a tenant's audit trail; `metadata` holds JSON values, never secrets or claims."""

    tenant_id: UUID
    actor: Actor
    action: str
    resource_type: str
    resource_id: str
    at: datetime
    outcome: AuditOutcome = "SUCCESS"
    metadata: Mapping[str, object] = field(default_factory=dict)


@short_repr
class AuditEventRecord(NamedTuple):
    """A stored audit entry; `integrity_hash` covers `record`, which is canonical JSON, and `prev_hash`."""

    tenant_id: Annotated[UUID, Field(primary_key=True)]
    seq: Annotated[int, Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    timestamp: datetime
    action: Annotated[str, Field(max_length=64)]
    resource_type: Annotated[str, Field(max_length=40)]
    resource_id: Annotated[str, Field(max_length=128)]
    record: bytes
    integrity_hash: bytes
    prev_hash: bytes
    actor_type: Annotated[str, Field(max_length=8, sa_column_kwargs={"server_default": ""})]
    actor_id: Annotated[str, Field(max_length=64, sa_column_kwargs={"server_default": ""})]
    outcome: Annotated[str, Field(max_length=8, sa_column_kwargs={"server_default": ""})]


AuditEvent = model_of(
    AuditEventRecord,
    "audit_events",
    Index("ix_audit_events_of_actor", "tenant_id", "actor_id", "seq"),
    Index("ix_audit_events_of_deed", "tenant_id", "resource_type", "action", "seq"),
    Index("ix_audit_events_of_resource", "tenant_id", "resource_id", "seq"),
    Index("ix_audit_events_of_time", "tenant_id", "timestamp"),
)
_table = table_of(AuditEvent)

BUFFER = Buffer[AuditEntry]("audit")


def foresee(foreseen: Foreseen, tenant_id: UUID) -> None:
    """Name what the commit of an entry of a tenant will read."""
    HEADS.foresee(foreseen, chain_name(tenant_id))


def record(tx: Transaction, entry: AuditEntry) -> None:
    """Add `entry` to its tenant's trail; it is stored if and only if the transaction commits."""
    foresee(tx.foreseen, entry.tenant_id)
    tx.buffer(BUFFER).append(entry)


def write_entries(tx: Transaction) -> None:
    """Number and chain the buffered entries of a transaction, just before its commit.

    The chains of all its tenants are read with one query.
    """
    entries = tx.buffer(BUFFER)
    if not entries:
        return
    tenants = list({entry.tenant_id for entry in entries})
    chains = dict(zip(tenants, open_chains(tx, list(map(chain_name, tenants))), strict=True))
    for entry in entries:
        tx.add(_table, _row(chains[entry.tenant_id], entry))
    entries.clear()
    save_chains(tx, chains.values())


@lru_cache(maxsize=1_024)
def chain_name(tenant_id: UUID) -> str:
    """Return the name of a tenant's audit chain."""
    return f"audit:{tenant_id}"


def _row(chain: Chain, entry: AuditEntry) -> dict[str, object]:
    entry_id = new_id(entry.at)
    record_json = canonical_trusted(_record_of(entry_id, entry))
    seq, integrity_hash, prev_hash = chain.extend(record_json)
    return {
        "tenant_id": entry.tenant_id,
        "seq": seq,
        "id": entry_id,
        "timestamp": entry.at,
        "action": entry.action,
        "resource_type": entry.resource_type,
        "resource_id": entry.resource_id,
        "actor_type": entry.actor.actor_type,
        "actor_id": entry.actor.actor_id,
        "outcome": entry.outcome,
        "record": record_json,
        "integrity_hash": integrity_hash,
        "prev_hash": prev_hash,
    }


def _record_of(entry_id: UUID, entry: AuditEntry) -> dict[str, object]:
    return {
        "id": entry_id,
        "tenant_id": entry.tenant_id,
        "timestamp": format_time(entry.at),
        "actor_type": entry.actor.actor_type,
        "actor_id": entry.actor.actor_id,
        "action": entry.action,
        "resource_type": entry.resource_type,
        "resource_id": entry.resource_id,
        "outcome": entry.outcome,
        "metadata": {**entry.metadata, **attribution} if (attribution := entry.actor.attribution) else entry.metadata,
    }
