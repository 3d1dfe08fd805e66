"""The rows of a past that is being loaded, within one transaction; see `KeptLogin`."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, select, tuple_

from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.risk.account_takeover.tables import KeptLogin, KeptLoginRecord, LoginLearningRecord

kept = table_of(KeptLogin)
_PLACE = (kept.c.order_ms, kept.c.id)


def add_new(tx: Transaction, tenant_id: UUID, rows: Sequence[KeptLoginRecord]) -> list[KeptLoginRecord]:
    """Keep the rows that are not kept yet, each once, and return them in their order."""
    by_place = {(row.order_ms, row.id): row for row in rows}
    times = list({row.order_ms for row in rows})
    query = select(*_PLACE).where(kept.c.tenant_id == tenant_id, kept.c.order_ms.in_(times))
    known = {(order_ms, bytes(id_)) for order_ms, id_ in tx.exec(query)}
    new = [by_place[place] for place in sorted(by_place.keys() - known)]
    for row in new:
        tx.add(kept, row)
    return new


def list_next(tx: Transaction, of: LoginLearningRecord, *, limit: int) -> list[KeptLoginRecord]:
    """List the rows after a tenant's cursor, in their order."""
    is_next = tuple_(*_PLACE) > (of.cursor_ms, of.cursor_id)
    query = select(*_PLACE, kept.c.is_past, kept.c.trace).where(kept.c.tenant_id == of.tenant_id, is_next)
    return [KeptLoginRecord(of.tenant_id, *row) for row in tx.exec(query.order_by(*_PLACE).limit(limit))]


def delete_some(tx: Transaction, tenant_id: UUID, *, limit: int) -> int:
    """Delete at most `limit` rows of a tenant; returns their number."""
    due = select(*_PLACE).where(kept.c.tenant_id == tenant_id).order_by(*_PLACE).limit(limit)
    condition = (kept.c.tenant_id == tenant_id, tuple_(*_PLACE).in_(due))
    return tx.exec(delete(kept).where(*condition)).rowcount
