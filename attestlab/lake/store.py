"""All queries of the lake to the records: the length of each sequence, and the rows of a range of it.

A range is half open, `first` <= number < `end`. Numbers are assigned under the writer's lock and have no gaps, so no
row appears later below a sequence's length. Columns are named, values are parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, CursorResult, and_, select

from attestlab.attestations.events import VerificationCompleted, VerificationFailed
from attestlab.attestations.store import attestations
from attestlab.audit.store import events as trail
from attestlab.core.db.tables import table_of
from attestlab.core.records import audit, hash_chain, outbox
from attestlab.core.records.hash_chain import ChainHead
from attestlab.issuers.store import keys
from attestlab.log.entries import EntryType
from attestlab.log.store import heads, leaves
from attestlab.orgs.store import tenants
from attestlab.policy.decisions import EVALUATED
from attestlab.policy.store import decisions

_chains = table_of(ChainHead)
_outbox = table_of(outbox.OutboxEvent)
_TRAILS = audit.chain_name(UUID(int=0)).partition(":")[0] + ":"
_MINTED = (
    "log_index", "id", "tenant_id", "issuer_id", "kid", "alg", "schema_id", "content_type", "payload_size",
    "document_hash", "custody", "snapshot_status", "snapshot_trust_tier", "snapshot_risk_rating",
    "snapshot_jurisdiction", "expiry_at", "pack_id", "supersedes", "decision_id", "created_at",
)  # fmt: skip
_DECIDED = (
    "id", "tenant_id", "created_at", "action", "target_type", "target_id", "allowed", "matched_rules",
    "policy_set_digest", "members", "input", "input_sha256",
)  # fmt: skip
MAX_IDS_PER_QUERY = 500  # ids in one query

Rows = CursorResult[tuple[Any, ...]]


class Numbering(StrEnum):
    """The sequence that numbers facts: the log's index, the outbox's, or that of one tenant's audit trail."""

    LOG = "log"
    OUTBOX = "outbox"
    TRAIL = "trail"


def sequence_length(connection: Connection, numbering: Numbering, tenant_id: UUID) -> int:
    """Return the length of a sequence in which a tenant can have facts."""
    if numbering is Numbering.LOG:
        return _log_length(connection)
    name = outbox.CHAIN if numbering is Numbering.OUTBOX else audit.chain_name(tenant_id)
    return hash_chain.read_head(connection, name)[0]


def sequence_lengths(connection: Connection, *, min_length: int) -> dict[Numbering, dict[UUID | None, int]]:
    """Return the lengths of the sequences with at least `min_length` numbers; only audit trails belong to a tenant."""
    log, outbox_length = _log_length(connection), hash_chain.read_head(connection, outbox.CHAIN)[0]
    return {
        Numbering.LOG: {None: log} if log >= min_length else {},
        Numbering.OUTBOX: {None: outbox_length} if outbox_length >= min_length else {},
        Numbering.TRAIL: _trail_lengths(connection, min_length),
    }


def _log_length(connection: Connection) -> int:
    size: int = connection.execute(select(heads.c.size)).scalar() or 0
    return size


def _trail_lengths(connection: Connection, min_length: int) -> dict[UUID | None, int]:
    query = select(_chains.c.name, _chains.c.length).where(
        _chains.c.name.startswith(_TRAILS, autoescape=True), _chains.c.length >= min_length
    )
    return {UUID(row.name.removeprefix(_TRAILS)): row.length for row in connection.execute(query)}


def get_operator_id(connection: Connection) -> UUID:
    """Return the id of the operator's own tenant."""
    result: UUID = connection.execute(select(tenants.c.id).where(tenants.c.is_operator)).scalar_one()
    return result


def select_entries(connection: Connection, first: int, end: int, _tenant_id: UUID | None) -> Rows:
    """Return entries of the log, which is public."""
    query = select(leaves.c.index, leaves.c.leaf_hash, leaves.c.entry)
    return connection.execute(query.where(leaves.c.index >= first, leaves.c.index < end))


def select_mints(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Rows:
    """Return attestations by the index of their mint: only columns that never change and contain no personal data."""
    wanted = [attestations.c.log_index >= first, attestations.c.log_index < end]
    wanted += [] if tenant_id is None else [attestations.c.tenant_id == tenant_id]
    signed_with = and_(keys.c.tenant_id == attestations.c.tenant_id, keys.c.kid == attestations.c.kid)
    columns = [*(attestations.c[name] for name in _MINTED), keys.c.created_at.label("key_created_at")]
    return connection.execute(select(*columns).join_from(attestations, keys, signed_with, isouter=True).where(*wanted))


def select_status_entries(connection: Connection, first: int, end: int) -> Rows:
    """Return the log's entries that end an attestation."""
    query = select(leaves.c.index, leaves.c.entry).where(leaves.c.kind == EntryType.ATTESTATION_STATUS.value)
    return connection.execute(query.where(leaves.c.index >= first, leaves.c.index < end).order_by(leaves.c.index))


def find_tenants(connection: Connection, attestation_ids: Iterable[UUID]) -> Mapping[UUID, UUID]:
    """Return the tenant of each attestation."""
    result: dict[UUID, UUID] = {}
    for ids in _chunks(list(attestation_ids)):
        query = select(attestations.c.id, attestations.c.tenant_id).where(attestations.c.id.in_(ids))
        result |= {row.id: row.tenant_id for row in connection.execute(query)}
    return result


def select_verifications(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Rows:
    """Return the outbox events of verifications."""
    wanted = [_outbox.c.seq >= first, _outbox.c.seq < end]
    wanted += [_outbox.c.type.in_([VerificationCompleted.type, VerificationFailed.type])]
    wanted += [] if tenant_id is None else [_outbox.c.tenant_id == tenant_id]
    columns = (_outbox.c.seq, _outbox.c.id, _outbox.c.tenant_id, _outbox.c.type, _outbox.c.created_at, _outbox.c.body)
    return connection.execute(select(*columns).where(*wanted))


def select_audit_lines(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Rows:
    """Return entries of one tenant's audit trail."""
    columns = (trail.c.seq, trail.c.record, trail.c.integrity_hash, trail.c.prev_hash)
    return connection.execute(select(*columns).where(*_in_range(first, end, tenant_id)))


def select_decisions(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Rows:
    """Return decisions of one tenant, numbered by their entries in the audit trail."""
    columns = [decisions.c[name] for name in _DECIDED]
    query = select(trail.c.seq, *columns).join_from(trail, decisions, decisions.c.id == trail.c.resource_id)
    return connection.execute(query.where(*_in_range(first, end, tenant_id), trail.c.action == EVALUATED))


def _in_range(first: int, end: int, tenant_id: UUID | None) -> list[Any]:
    return [trail.c.tenant_id == tenant_id, trail.c.seq >= first, trail.c.seq < end]


def _chunks(ids: list[UUID]) -> Iterator[list[UUID]]:
    for start in range(0, len(ids), MAX_IDS_PER_QUERY):
        yield ids[start : start + MAX_IDS_PER_QUERY]
