"""All queries of the lake to the records: the length of each sequence, and the rows of a range of it.

Rows that change, such as issuers, are read as they are now. Of facts, a range is read; it is half open, `first` <=
number < `end`. Numbers are assigned under the writer's lock and have no gaps, so no
row appears later below a sequence's length. Columns are named, values are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, select

from attestlab.agents.observability import store as observability_store
from attestlab.attestations.events import VerificationCompleted, VerificationFailed
from attestlab.attestations.store import attestations
from attestlab.audit.store import events as trail
from attestlab.core.db.tables import Record, iterate, table_of
from attestlab.core.records import audit, hash_chain, outbox
from attestlab.core.records.hash_chain import ChainHead
from attestlab.issuers.store import keys
from attestlab.log.entries import EntryType
from attestlab.log.store import heads, leaves
from attestlab.orgs.store import tenants
from attestlab.policy.decisions import EVALUATED
from attestlab.policy.store import decisions
from attestlab.receipts.changes import REDACTED
from attestlab.receipts.store import receipts
from attestlab.risk.normalization import service as normalization
from attestlab.risk.normalization.service import RiskEventRecord
from attestlab.risk.normalization.service import events as risk_events
from attestlab.risk.signals import recording
from attestlab.risk.signals.store import RiskSignalRecord, signals
from attestlab.webhooks import delivery_store
from attestlab.webhooks.delivery_store import attempts, deliveries

_chains = table_of(ChainHead)
_outbox = table_of(outbox.OutboxEvent)
_TRAILS = audit.chain_name(UUID(int=0)).partition(":")[0] + ":"
MAX_IDS_PER_QUERY = 500  # ids in one query


class PublicEntry(NamedTuple):
    """An entry of the log."""

    index: int  # type: ignore[assignment]  # overrides tuple.index
    leaf_hash: bytes
    entry: bytes


class StatusEntry(NamedTuple):
    """An entry of the log that ends an attestation or a receipt."""

    index: int  # type: ignore[assignment]  # overrides tuple.index
    entry: bytes


class MintedAttestation(NamedTuple):
    """The columns of an attestation that never change, and the time of its key."""

    log_index: int
    id: UUID
    tenant_id: UUID
    issuer_id: UUID
    kid: str
    alg: str
    schema_id: str
    content_type: str
    payload_size: int | None
    document_hash: str | None
    custody: str
    snapshot_status: str
    snapshot_trust_tier: str
    snapshot_risk_rating: str
    snapshot_jurisdiction: str | None
    expiry_at: datetime | None
    pack_id: UUID | None
    supersedes: UUID | None
    decision_id: str | None
    created_at: datetime
    key_created_at: datetime | None


class MintedReceipt(NamedTuple):
    """The columns of a receipt that never change and say nothing of its payload, and the time of its key."""

    log_index: int
    receipt_id: UUID
    tenant_id: UUID
    issuer_id: UUID
    kid: str
    alg: str
    receipt_type: str
    receipt_version: str
    custody: str
    snapshot_status: str
    snapshot_trust_tier: str
    snapshot_risk_rating: str
    snapshot_jurisdiction: str | None
    decision_id: str | None
    retention_policy: str
    retain_until: datetime | None
    issued_at: datetime
    key_created_at: datetime | None


class ReceiptRedaction(NamedTuple):
    """The line of an audit trail that says when a receipt was redacted."""

    seq: int
    tenant_id: UUID
    receipt_id: str
    at: datetime


class VerificationEvent(NamedTuple):
    """An event of the outbox that reports verifications."""

    seq: int
    id: UUID
    tenant_id: UUID
    type: str
    created_at: datetime
    body: bytes


class AuditLine(NamedTuple):
    """An entry of an audit trail: its record, and the links of its chain."""

    seq: int
    record: bytes
    integrity_hash: bytes
    prev_hash: bytes


class NumberedDecision(NamedTuple):
    """A policy decision, and the number of its entry in the audit trail."""

    seq: int
    id: str
    tenant_id: UUID
    created_at: datetime
    action: str
    target_type: str
    target_id: UUID | None
    allowed: bool
    matched_rules: str
    policy_set_digest: str
    members: str
    input: str
    input_sha256: str


class DeliveryAttempt(NamedTuple):
    """An attempt of a webhook delivery, with the columns of the delivery that never change."""

    seq: int
    delivery_id: UUID
    tenant_id: UUID
    endpoint_id: UUID
    number: int
    at: datetime
    http_status: int | None
    response_time_ms: int
    error: str | None
    event_id: UUID
    event_type: str
    test: bool
    manual: bool


class Numbering(StrEnum):
    """The sequence that numbers facts: that of the log, the outbox, one tenant's audit trail, risk or deliveries."""

    LOG = "log"
    OUTBOX = "outbox"
    TRAIL = "trail"
    SIGNALS = "signals"
    RISK_EVENTS = "risk_events"
    ATTEMPTS = "attempts"
    AGENT_EVENTS = "agent_events"


_COUNTS: dict[Numbering, Callable[[Connection], int]] = {
    Numbering.SIGNALS: recording.NUMBERED.count,
    Numbering.RISK_EVENTS: normalization.NUMBERED.count,
    Numbering.ATTEMPTS: lambda connection: delivery_store.next_attempt_seq(connection.execute),
    Numbering.AGENT_EVENTS: observability_store.NUMBERED.count,
}


def sequence_length(connection: Connection, numbering: Numbering, tenant_id: UUID | None) -> int:
    """Return the length of a sequence in which a tenant can have facts; an audit trail needs a tenant."""
    if numbering is Numbering.LOG:
        return _log_length(connection)
    if numbering in _COUNTS:
        return _COUNTS[numbering](connection)
    name = outbox.CHAIN if tenant_id is None or numbering is Numbering.OUTBOX else audit.chain_name(tenant_id)
    return hash_chain.read_head(connection, name)[0]


def sequence_lengths(connection: Connection, *, min_length: int) -> dict[Numbering, dict[UUID | None, int]]:
    """Return the lengths of the sequences with at least `min_length` numbers; only audit trails belong to a tenant."""
    log, outbox_length = _log_length(connection), hash_chain.read_head(connection, outbox.CHAIN)[0]
    of_all = {Numbering.LOG: log, Numbering.OUTBOX: outbox_length}
    of_all |= {numbering: count(connection) for numbering, count in _COUNTS.items()}
    lengths: dict[Numbering, dict[UUID | None, int]] = {
        numbering: {None: length} if length >= min_length else {} for numbering, length in of_all.items()
    }
    return {**lengths, Numbering.TRAIL: _trail_lengths(connection, min_length)}


def _log_length(connection: Connection) -> int:
    return connection.execute(select(heads.c.size)).scalar() or 0


def _trail_lengths(connection: Connection, min_length: int) -> dict[UUID | None, int]:
    query = select(_chains.c.name, _chains.c.length).where(
        _chains.c.name.startswith(_TRAILS, autoescape=True), _chains.c.length >= min_length
    )
    return {UUID(row.name.removeprefix(_TRAILS)): row.length for row in connection.execute(query)}


def get_operator_id(connection: Connection) -> UUID:
    """Return the id of the operator's own tenant."""
    result: UUID = connection.execute(select(tenants.c.id).where(tenants.c.is_operator)).scalar_one()
    return result


def select_entries(connection: Connection, first: int, end: int, _tenant_id: UUID | None) -> Iterator[PublicEntry]:
    """Return entries of the log, which is public."""
    query = select(leaves.c.index, leaves.c.leaf_hash, leaves.c.entry)
    return iterate(connection.execute(query.where(leaves.c.index >= first, leaves.c.index < end)), PublicEntry)


def select_mints(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[MintedAttestation]:
    """Return attestations by the index of their mint: only columns that never change and contain no personal data."""
    columns = [attestations.c[name] for name in MintedAttestation._fields[:-1]]
    return _select_signed(connection, attestations, columns, MintedAttestation, first, end, tenant_id)


def select_receipts(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[MintedReceipt]:
    """Return receipts by the index of their mint: what a redaction deletes is not among the columns."""
    names = {"receipt_id": "id", "issued_at": "created_at"}
    columns = [receipts.c[names.get(name, name)] for name in MintedReceipt._fields[:-1]]
    return _select_signed(connection, receipts, columns, MintedReceipt, first, end, tenant_id)


def select_status_entries(connection: Connection, kind: EntryType, first: int, end: int) -> Iterator[StatusEntry]:
    """Return the log's entries of a kind that ends an attestation or a receipt."""
    query = select(leaves.c.index, leaves.c.entry).where(leaves.c.kind == kind.value)
    in_range = query.where(leaves.c.index >= first, leaves.c.index < end).order_by(leaves.c.index)
    return iterate(connection.execute(in_range), StatusEntry)


def find_tenants(connection: Connection, table: Table, ids: Iterable[UUID]) -> Mapping[UUID, UUID]:
    """Return the tenant of each attestation or receipt of a table."""
    result: dict[UUID, UUID] = {}
    for chunk in _chunks(list(ids)):
        query = select(table.c.id, table.c.tenant_id).where(table.c.id.in_(chunk))
        result |= {row.id: row.tenant_id for row in connection.execute(query)}
    return result


def select_redactions(
    connection: Connection, first: int, end: int, tenant_id: UUID | None
) -> Iterator[ReceiptRedaction]:
    """Return the redactions of one tenant's receipts, numbered by their entries in the audit trail."""
    query = select(trail.c.seq, trail.c.tenant_id, trail.c.resource_id, trail.c.timestamp)
    in_range = query.where(*_in_range(first, end, tenant_id), trail.c.action == REDACTED)
    return iterate(connection.execute(in_range), ReceiptRedaction)


def select_verifications(
    connection: Connection, first: int, end: int, tenant_id: UUID | None
) -> Iterator[VerificationEvent]:
    """Return the outbox events of verifications."""
    wanted = [_outbox.c.seq >= first, _outbox.c.seq < end]
    wanted += [_outbox.c.type.in_([VerificationCompleted.type, VerificationFailed.type])]
    wanted += [] if tenant_id is None else [_outbox.c.tenant_id == tenant_id]
    columns = (_outbox.c.seq, _outbox.c.id, _outbox.c.tenant_id, _outbox.c.type, _outbox.c.created_at, _outbox.c.body)
    return iterate(connection.execute(select(*columns).where(*wanted)), VerificationEvent)


def select_audit_lines(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[AuditLine]:
    """Return entries of one tenant's audit trail."""
    columns = (trail.c.seq, trail.c.record, trail.c.integrity_hash, trail.c.prev_hash)
    return iterate(connection.execute(select(*columns).where(*_in_range(first, end, tenant_id))), AuditLine)


def select_decisions(
    connection: Connection, first: int, end: int, tenant_id: UUID | None
) -> Iterator[NumberedDecision]:
    """Return decisions of one tenant, numbered by their entries in the audit trail."""
    columns = [decisions.c[name] for name in NumberedDecision._fields[1:]]
    query = select(trail.c.seq, *columns).join_from(trail, decisions, decisions.c.id == trail.c.resource_id)
    in_range = query.where(*_in_range(first, end, tenant_id), trail.c.action == EVALUATED)
    return iterate(connection.execute(in_range), NumberedDecision)


def select_signals(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[RiskSignalRecord]:
    """Return risk signals by their numbers."""
    return iterate(connection.execute(_select_numbered(signals, first, end, tenant_id)), RiskSignalRecord)


def select_risk_events(
    connection: Connection, first: int, end: int, tenant_id: UUID | None
) -> Iterator[RiskEventRecord]:
    """Return raw events by their numbers."""
    return iterate(connection.execute(_select_numbered(risk_events, first, end, tenant_id)), RiskEventRecord)


def select_attempts(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[DeliveryAttempt]:
    """Return the attempts of webhook deliveries by their numbers."""
    wanted = [attempts.c.seq >= first, attempts.c.seq < end]
    wanted += [] if tenant_id is None else [attempts.c.tenant_id == tenant_id]
    names = ("event_id", "event_type", "test", "manual")  # of the delivery; the others are of the attempt
    columns = [(deliveries if name in names else attempts).c[name] for name in DeliveryAttempt._fields]
    query = select(*columns).join_from(attempts, deliveries, deliveries.c.id == attempts.c.delivery_id)
    return iterate(connection.execute(query.where(*wanted)), DeliveryAttempt)


def _select_signed(
    connection: Connection,
    table: Table,
    columns: Iterable[ColumnElement[object]],
    kind: type[Record],
    first: int,
    end: int,
    tenant_id: UUID | None,
) -> Iterator[Record]:
    """Return attestations or receipts by the index of their mint, each with the time of its key."""
    wanted = [table.c.log_index >= first, table.c.log_index < end]
    wanted += [] if tenant_id is None else [table.c.tenant_id == tenant_id]
    signed_with = and_(keys.c.tenant_id == table.c.tenant_id, keys.c.kid == table.c.kid)
    query = select(*columns, keys.c.created_at).join_from(table, keys, signed_with, isouter=True).where(*wanted)
    return iterate(connection.execute(query), kind)


def _select_numbered(table: Table, first: int, end: int, tenant_id: UUID | None) -> Select[tuple[object, ...]]:
    query = select(*table.c).where(table.c.seq >= first, table.c.seq < end)
    return query if tenant_id is None else query.where(table.c.tenant_id == tenant_id)


def _in_range(first: int, end: int, tenant_id: UUID | None) -> list[ColumnElement[bool]]:
    return [trail.c.tenant_id == tenant_id, trail.c.seq >= first, trail.c.seq < end]


def _chunks(ids: list[UUID]) -> Iterator[list[UUID]]:
    for start in range(0, len(ids), MAX_IDS_PER_QUERY):
        yield ids[start : start + MAX_IDS_PER_QUERY]
