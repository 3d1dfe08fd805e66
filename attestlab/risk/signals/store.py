"""Queries of risk signals; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.risk.rules import MAX_RECENT_SIGNALS, Entity
from attestlab.risk.signals.tables import BulkProgress, BulkProgressRecord, RiskSignal, RiskSignalRecord

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


@dataclass(frozen=True, kw_only=True)
class SignalFilter:
    """Conditions on signals; None does not filter. Scores are inclusive, `since` is inclusive, `until` exclusive."""

    source: str | None = None
    signal_type: str | None = None
    entity_type: str | None = None
    entity_id: str | None = None
    min_score: int | None = None
    max_score: int | None = None
    since: datetime | None = None
    until: datetime | None = None


class NewestScan(NamedTuple):
    """The signals of a filter among the newest that an index finds.

    `reached` is the number of the oldest signal that was looked at; None if there is no older one.
    """

    rows: Sequence[RiskSignalRecord]
    reached: int | None


def list_page(
    execute: Execute,
    tenant_id: UUID,
    filter_: SignalFilter,
    *,
    before: int | None = None,
    first: int = 0,
    limit: int = 50,
) -> Sequence[RiskSignalRecord]:
    """List a tenant's signals, newest first, with numbers from `first` to before `before`."""
    wanted = [signals.c.tenant_id == tenant_id, *_conditions(filter_), *_between(first, before)]
    return fetch_all(
        execute(select(*signals.c).where(*wanted).order_by(signals.c.seq.desc()).limit(limit)), RiskSignalRecord
    )


def scan_newest(
    execute: Execute, tenant_id: UUID, filter_: SignalFilter, *, before: int | None, limit: int, at_most: int
) -> NewestScan:
    """List a tenant's signals like `list_page`, among the newest `at_most` that an index finds."""
    indexed = _select_indexed(filter_)
    if indexed == filter_:
        return NewestScan(list_page(execute, tenant_id, filter_, before=before, limit=limit), None)
    wanted = [signals.c.tenant_id == tenant_id, *_conditions(indexed), *_between(0, before)]
    newest = select(signals.c.seq).where(*wanted).order_by(signals.c.seq.desc()).limit(at_most)
    counted = newest.subquery()
    count, oldest = execute(select(func.count(), func.min(counted.c.seq))).one()
    rows = list_page(execute, tenant_id, filter_, before=before, first=oldest or 0, limit=limit)
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
    wanted = SignalFilter(entity_type=entity.type.value, entity_id=entity.id)
    return list_page(execute, tenant_id, wanted, limit=limit)


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


def _select_indexed(filter_: SignalFilter) -> SignalFilter:
    """Return the conditions whose signals an index finds, newest first."""
    if filter_.entity_type is None or filter_.entity_id is None:
        return SignalFilter()
    return SignalFilter(entity_type=filter_.entity_type, entity_id=filter_.entity_id)


def _between(first: int, before: int | None) -> list[ColumnElement[bool]]:
    conditions = [] if before is None else [signals.c.seq < before]
    return [*conditions, signals.c.seq >= first] if first else conditions


def _conditions(filter_: SignalFilter) -> list[ColumnElement[bool]]:
    columns = signals.c
    names = ("source", "signal_type", "entity_type", "entity_id")
    equal = {columns[name]: getattr(filter_, name) for name in names}
    conditions = [column == value for column, value in equal.items() if value is not None]
    conditions += [] if filter_.min_score is None else [columns.score >= filter_.min_score]
    conditions += [] if filter_.max_score is None else [columns.score <= filter_.max_score]
    conditions += [] if filter_.since is None else [columns.occurred_at >= filter_.since]
    conditions += [] if filter_.until is None else [columns.occurred_at < filter_.until]
    return conditions
