"""Tables and queries of risk signals, and of the progress of bulk requests; each query binds values as parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Double, Index, bindparam, delete, func, select, text, update
from sqlmodel import Field

from attestlab.core.db.byte_order import by_bytes
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.core.records.hash_chain import SEQUENCE_TYPE
from attestlab.risk.rules import MAX_RECENT_SIGNALS, Entity
from attestlab.risk.signals.shapes import SignalFilters


@short_repr
class RiskSignalRecord(NamedTuple):
    """A risk signal; it never changes.

    `seq` numbers the signals of all tenants without gaps, in the order of their commits, and `hash` chains them.
    `details` is canonical JSON. `case_id` is the case that the signal opened or joined, `event_id` the raw event that
    it was normalized from, and `replaces` the signal that an older mapping had made of that event.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    source: Annotated[str, Field(max_length=64)]
    signal_type: Annotated[str, Field(max_length=64)]
    score: Annotated[float, Field(sa_type=Double)]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    details: Annotated[str, Field(max_length=8192)]
    occurred_at: datetime
    created_at: datetime
    case_id: UUID | None = None
    event_id: UUID | None = None
    replaces: UUID | None = None
    hash: bytes = b""


RiskSignal = model_of(
    RiskSignalRecord,
    "risk_signals",
    Index("ix_risk_signals_of_tenant", "tenant_id", "seq"),
    Index("ix_risk_signals_of_entity", "tenant_id", "entity_type", "entity_id", "seq", info=by_bytes("entity_id")),
    Index("ix_risk_signals_id", "id", unique=True),
    Index("ix_risk_signals_of_event", "event_id", sqlite_where=text("event_id IS NOT NULL")),
)


@short_repr
class BulkProgressRecord(NamedTuple):
    """How many signals of a bulk request are recorded; `id` is the SHA-256 of tenant, Idempotency-Key and body.

    `began_at` is when the request was received first.
    """

    id: Annotated[bytes, Field(primary_key=True)]
    recorded: Annotated[int, Field(sa_type=BigInteger)]
    began_at: Annotated[datetime, Field(index=True)]


BulkProgress = model_of(BulkProgressRecord, "risk_bulk_progress")


signals = table_of(RiskSignal)
progress = table_of(BulkProgress)

_newest_of_entity = (
    select(signals.c.id, signals.c.replaces, signals.c.score, signals.c.occurred_at)
    .where(
        signals.c.tenant_id == bindparam("tenant"),
        signals.c.entity_type == bindparam("type"),
        signals.c.entity_id == bindparam("entity"),
    )
    .order_by(signals.c.seq.desc())
    .limit(bindparam("most"))
    .cte()
)
_RECENT = select(func.max(_newest_of_entity.c.score), func.count()).where(
    _newest_of_entity.c.occurred_at > bindparam("since"),
    _newest_of_entity.c.id.not_in(
        select(_newest_of_entity.c.replaces).where(_newest_of_entity.c.replaces.is_not(None))
    ),
)


class NewestScan(NamedTuple):
    """The signals of a filter among the newest that an index finds.

    `reached` is the number of the oldest signal that was looked at; None if there is no older one.
    """

    rows: Sequence[RiskSignalRecord]
    reached: int | None


def list_page(
    execute: Execute,
    tenant_id: UUID,
    filters: SignalFilters,
    *,
    before: int | None = None,
    first: int = 0,
    limit: int = 50,
) -> Sequence[RiskSignalRecord]:
    """List a tenant's signals, newest first, with numbers from `first` to before `before`."""
    conditions = build_conditions(filters, signals.c)
    return _list(execute, [signals.c.tenant_id == tenant_id, *conditions, *_between(first, before)], limit)


def scan_newest(
    execute: Execute, tenant_id: UUID, filters: SignalFilters, *, before: int | None, limit: int, at_most: int
) -> NewestScan:
    """List a tenant's signals like `list_page`, among the newest `at_most` that an index finds."""
    indexed = _find_indexed(filters)
    if len(indexed) == len(build_conditions(filters, signals.c)):
        return NewestScan(list_page(execute, tenant_id, filters, before=before, limit=limit), None)
    wanted = [signals.c.tenant_id == tenant_id, *indexed, *_between(0, before)]
    newest = select(signals.c.seq).where(*wanted).order_by(signals.c.seq.desc()).limit(at_most)
    counted = newest.subquery()
    count, oldest = execute(select(func.count(), func.min(counted.c.seq))).one()
    rows = list_page(execute, tenant_id, filters, before=before, first=oldest or 0, limit=limit)
    return NewestScan(rows, None if count < at_most else oldest)


def list_numbered(execute: Execute, tenant_id: UUID, numbers: Sequence[int]) -> Sequence[RiskSignalRecord]:
    """List the tenant's signals that have these numbers, newest first."""
    query = select(*signals.c).where(signals.c.seq.in_(numbers), signals.c.tenant_id == tenant_id)
    return fetch_all(execute(query.order_by(signals.c.seq.desc())), RiskSignalRecord)


def find_highest_scores(execute: Execute, tenant_id: UUID) -> Mapping[str, float]:
    """Return the highest score of each source among the tenant's newest `MAX_RECENT_SIGNALS` signals."""
    newest = select(signals.c.source, signals.c.score).where(signals.c.tenant_id == tenant_id)
    recent = newest.order_by(signals.c.seq.desc()).limit(MAX_RECENT_SIGNALS).subquery()
    rows = execute(select(recent.c.source, func.max(recent.c.score)).group_by(recent.c.source))
    return {source: float(highest) for source, highest in rows}


def get(execute: Execute, signal_id: UUID, *, tenant_id: UUID) -> RiskSignalRecord:
    """Get a signal of the tenant.

    Raises:
        NotFound: the tenant has no such signal.
    """
    query = select(*signals.c).where(signals.c.id == signal_id, signals.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), RiskSignalRecord)
    if row is None:
        raise NotFound("risk signal", signal_id)
    return row


def find_newest(execute: Execute, tenant_id: UUID, entity: Entity, *, limit: int) -> Sequence[RiskSignalRecord]:
    """Find the newest signals of an entity."""
    return _list(execute, [signals.c.tenant_id == tenant_id, *_name_entity(entity.type.value, entity.id)], limit)


def summarize_recent(
    execute: Execute, tenant_id: UUID, entity: Entity, *, since: datetime, limit: int
) -> tuple[float | None, int]:
    """Return the highest score and the number of an entity's signals after `since`, among its newest `limit`.

    A signal that a newer one replaces does not count.
    """
    parameters = {"tenant": tenant_id, "type": entity.type.value, "entity": entity.id, "since": since, "most": limit}
    row = execute(_RECENT, parameters).one()
    return row[0], row[1]


def find_of_event(execute: Execute, event_id: UUID) -> RiskSignalRecord | None:
    """Find the newest signal that was normalized from a raw event."""
    query = select(*signals.c).where(signals.c.event_id == event_id).order_by(signals.c.seq.desc()).limit(1)
    return fetch_one(execute(query), RiskSignalRecord)


def begin_progress(tx: Transaction, new: BulkProgressRecord) -> BulkProgressRecord:
    """Return the progress of a bulk request, which is `new` if none is stored."""
    found = fetch_one(tx.exec(select(*progress.c).where(progress.c.id == new.id)), BulkProgressRecord)
    if found is None:
        tx.add(progress, new)
    return found or new


def find_progress(execute: Execute, progress_id: bytes) -> int:
    """Return how many signals of a bulk request are recorded."""
    recorded: int | None = execute(select(progress.c.recorded).where(progress.c.id == progress_id)).scalar()
    return recorded or 0


def save_progress(tx: Transaction, progress_id: bytes, recorded: int) -> None:
    """Store how many signals of a bulk request that has begun are recorded."""
    tx.exec(update(progress).where(progress.c.id == progress_id).values(recorded=recorded))


def delete_progress(tx: Transaction, *, before: datetime) -> None:
    """Delete the progress of requests that began before a moment."""
    tx.exec(delete(progress).where(progress.c.began_at < before))


def _find_indexed(filters: SignalFilters) -> list[ColumnElement[bool]]:
    """Return the conditions whose signals an index finds, newest first: those of an entity."""
    entity_type, entity_id = filters.entity_type or filters.subject_type, filters.entity_id or filters.subject_id
    return [] if entity_type is None or entity_id is None else _name_entity(entity_type, entity_id)


def _name_entity(entity_type: str, entity_id: str) -> list[ColumnElement[bool]]:
    return [signals.c.entity_type == entity_type, signals.c.entity_id == entity_id]


def _list(execute: Execute, wanted: Sequence[ColumnElement[bool]], limit: int) -> Sequence[RiskSignalRecord]:
    query = select(*signals.c).where(*wanted).order_by(signals.c.seq.desc()).limit(limit)
    return fetch_all(execute(query), RiskSignalRecord)


def _between(first: int, before: int | None) -> list[ColumnElement[bool]]:
    conditions = [] if before is None else [signals.c.seq < before]
    return [*conditions, signals.c.seq >= first] if first else conditions
