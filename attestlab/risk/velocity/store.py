"""Queries of velocity scoring; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, delete, func, select, tuple_

from attestlab.core.db.tables import Execute, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.risk.rules import Entity
from attestlab.risk.velocity.tables import VelocityEvent
from attestlab.risk.velocity.windows import WINDOWS

occurrences = table_of(VelocityEvent)
MAX_COUNTED = 1_000  # of one entity and action within a day; so many take half a millisecond to count
_KEY = tuple(occurrences.primary_key)
_newest = (
    select(occurrences.c.occurred_us)
    .where(
        occurrences.c.tenant_id == bindparam("tenant"),
        occurrences.c.entity_type == bindparam("type"),
        occurrences.c.entity_id == bindparam("entity"),
        occurrences.c.action == bindparam("action"),
        occurrences.c.occurred_us > bindparam(WINDOWS[-1].name),
        occurrences.c.occurred_us <= bindparam("until"),
    )
    .order_by(occurrences.c.occurred_us.desc())
    .limit(bindparam("most"))
    .subquery()
)
_COUNTS = select(
    *(func.count().filter(_newest.c.occurred_us > bindparam(window.name)) for window in WINDOWS)
).select_from(_newest)
"""Built once: building it takes longer than running it."""


def count_windows(execute: Execute, tenant_id: UUID, entity: Entity, action: str, until_us: int) -> list[int]:
    """Count an action of an entity in each window that ends at a moment, exactly up to `MAX_COUNTED`."""
    begins = {window.name: until_us - window.seconds * 1_000_000 for window in WINDOWS}
    of_action = {"tenant": tenant_id, "type": entity.type.value, "entity": entity.id, "action": action}
    return list(execute(_COUNTS, {**of_action, **begins, "until": until_us, "most": MAX_COUNTED}).one())


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
