"""Queries of a tenant's events, by their number in the outbox."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, func, select

from attestlab.core.db.tables import Execute, fetch_all, table_of
from attestlab.core.records.outbox import OutboxEvent

_events = table_of(OutboxEvent)
_LAST = select(func.max(_events.c.sequence)).where(_events.c.tenant_id == bindparam("tenant"))
_CREATED_AT = select(_events.c.created_at).where(
    _events.c.tenant_id == bindparam("tenant"), _events.c.sequence == bindparam("sequence")
)


class LoggedEvent(NamedTuple):
    """An event of a tenant; `body` is the canonical JSON of its envelope."""

    sequence: int
    created_at: datetime
    body: bytes


def list_events(execute: Execute, tenant_id: UUID, *, after: int, since: datetime, limit: int) -> list[LoggedEvent]:
    """List the tenant's events that follow number `after` and happened at or after `since`, in ascending order."""
    listed = (_events.c.sequence, _events.c.created_at, _events.c.body)
    query = (
        select(*listed)
        .where(_events.c.tenant_id == tenant_id, _events.c.sequence > after, _events.c.created_at >= since)
        .order_by(_events.c.sequence)
        .limit(limit)
    )
    return fetch_all(execute(query), LoggedEvent)


def count_between(execute: Execute, tenant_id: UUID, since: datetime, until: datetime) -> int:
    """Count the tenant's events that happened from `since` on, and before `until`."""
    if until <= since:
        return 0
    first = find_first_since(execute, tenant_id, since, after=0)
    return find_first_since(execute, tenant_id, until, after=first - 1) - first


def find_first_since(execute: Execute, tenant_id: UUID, since: datetime, *, after: int) -> int:
    """Find the number of the first event after `after` that happened at or after `since`.

    If there is none, it is the number of the next event. Events are numbered in the order of their commits, which is
    that of their times but for some seconds. A binary search therefore finds it with one lookup for each doubling of
    their number, and no index of their times is needed.
    """
    last: int = execute(_LAST, {"tenant": tenant_id}).scalar() or 0
    low, high = min(after, last) + 1, last + 1
    while low < high:
        middle = (low + high) // 2
        at = execute(_CREATED_AT, {"tenant": tenant_id, "sequence": middle}).scalar()
        if at is not None and at >= since:
            high = middle
        else:
            low = middle + 1
    return low
