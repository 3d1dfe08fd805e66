"""Queries of velocity scoring; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select, tuple_

from attestlab.core.db.tables import Execute, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.risk.rules import Entity
from attestlab.risk.velocity.tables import VelocityEvent
from attestlab.risk.velocity.windows import DAY_S, WINDOWS

occurrences = table_of(VelocityEvent)
MAX_COUNTED = 10_000  # of one entity and action within a day; so many take a millisecond to count
_KEY = tuple(occurrences.primary_key)


def count_windows(execute: Execute, tenant_id: UUID, entity: Entity, action: str, until_us: int) -> list[int]:
    """Count an action of an entity in each window that ends at a moment, exactly up to `MAX_COUNTED`."""
    day = (
        select(occurrences.c.occurred_us)
        .where(*_of_entity(tenant_id, entity), occurrences.c.action == action)
        .where(occurrences.c.occurred_us > until_us - DAY_S * 1_000_000, occurrences.c.occurred_us <= until_us)
        .order_by(occurrences.c.occurred_us.desc())
        .limit(MAX_COUNTED)
        .subquery()
    )
    counts = [func.count().filter(day.c.occurred_us > until_us - window.seconds * 1_000_000) for window in WINDOWS]
    return list(execute(select(*counts).select_from(day)).one())


def list_actions(execute: Execute, tenant_id: UUID, entity: Entity, *, limit: int) -> Sequence[str]:
    """List the actions of an entity within the horizon, by name; each is one look-up in the index of the key."""
    action, found = occurrences.c.action, list[str]()
    while len(found) < limit:
        query = select(action).where(*_of_entity(tenant_id, entity), *[action > name for name in found[-1:]])
        name = execute(query.order_by(action).limit(1)).scalar()
        if name is None:
            break
        found.append(name)
    return found


def delete_before(tx: Transaction, before_us: int, *, limit: int) -> int:
    """Delete at most `limit` occurrences before a moment; returns their number."""
    due = select(*_KEY).where(occurrences.c.occurred_us < before_us).order_by(occurrences.c.occurred_us).limit(limit)
    return tx.exec(delete(occurrences).where(tuple_(*_KEY).in_(due))).rowcount


def _of_entity(tenant_id: UUID, entity: Entity) -> tuple[ColumnElement[bool], ...]:
    columns = occurrences.c
    return (columns.tenant_id == tenant_id, columns.entity_type == entity.type.value, columns.entity_id == entity.id)
