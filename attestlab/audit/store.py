"""Queries for the audit trail; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, select, tuple_, union_all

from attestlab.audit.shapes import TrailQuery
from attestlab.core.db.tables import fetch_all, fetch_one, iterate, table_of
from attestlab.core.filters import build_conditions
from attestlab.core.records.audit import AuditEvent, chain_name
from attestlab.core.records.hash_chain import GENESIS, link_hash, read_head

events = table_of(AuditEvent)
_COLUMNS = (events.c.seq, events.c.record, events.c.integrity_hash, events.c.prev_hash)
_KIND = (events.c.resource_type, events.c.action)


class ChainedAuditEvent(NamedTuple):
    """An audit event: its number in the chain, its record and the hashes that link it."""

    seq: int
    record: bytes
    integrity_hash: bytes
    prev_hash: bytes


class AuditEventKind(NamedTuple):
    """The resource type and the action of audit events."""

    resource_type: str
    action: str


EventQuery: TypeAlias = Select[int, bytes, bytes, bytes]


def list_events(
    connection: Connection, query: TrailQuery, *, tenant_id: UUID, before: int | None = None, limit: int
) -> list[ChainedAuditEvent]:
    """List the tenant's newest matching events, newest first, with numbers below `before`."""
    matching = _select_matching(query, tenant_id, before)
    if not query.is_by_kind:
        return fetch_all(connection.execute(_newest(matching, limit)), ChainedAuditEvent)
    of_each = [
        _newest(matching.where(*_matches_kind(kind)), limit).subquery()
        for kind in _iterate_kinds(connection, query, tenant_id)
    ]
    if not of_each:
        return []
    together = union_all(*(select(each) for each in of_each)).subquery()
    newest = select(together).order_by(together.c.seq.desc()).limit(limit)
    return fetch_all(connection.execute(newest), ChainedAuditEvent)


def is_chain_whole(connection: Connection, tenant_id: UUID, *, at_most: int) -> bool:
    """Whether each of the tenant's newest events, up to `at_most`, links to the one before, and the last is the head.

    In a snapshot without unwritten events of the tenant.
    """
    length, last = read_head(connection, chain_name(tenant_id))
    newest = _newest(select(*_COLUMNS).where(events.c.tenant_id == tenant_id), at_most)
    place = length
    for event in iterate(connection.execute(newest), ChainedAuditEvent):
        place -= 1
        is_linked = event.integrity_hash == last == link_hash(event.prev_hash, event.record)
        if event.seq != place or not is_linked:
            return False
        last = event.prev_hash
    return place == max(0, length - at_most) and (place > 0 or last == GENESIS)


def _select_matching(query: TrailQuery, tenant_id: UUID, before: int | None) -> EventQuery:
    conditions = [events.c.tenant_id == tenant_id, *build_conditions(query, events.c)]
    matching = select(*_COLUMNS).where(*conditions)
    return matching if before is None else matching.where(events.c.seq < before)


def _newest(query: EventQuery, limit: int) -> EventQuery:
    return query.order_by(events.c.seq.desc()).limit(limit)


def _matches_kind(kind: AuditEventKind) -> list[ColumnElement[bool]]:
    return [column == value for column, value in zip(_KIND, kind, strict=True)]


def _iterate_kinds(connection: Connection, trail_query: TrailQuery, tenant_id: UUID) -> Iterator[AuditEventKind]:
    """Yield each matching pair of resource type and action in the trail: some dozens, one index lookup each.

    So one index serves filters by either column; every further index would slow down each write.
    """
    query = select(*_KIND).where(events.c.tenant_id == tenant_id).order_by(*_KIND).limit(1)
    kind, action = trail_query.resource_type, trail_query.action
    if kind is not None:
        query = query.where(_KIND[0] == kind)
    kind_row = fetch_one(connection.execute(query), AuditEventKind)
    while kind_row is not None:
        if action in (None, kind_row.action):
            yield kind_row
        # For one resource type, compare the action only: otherwise SQLite would read every event of later types.
        behind = tuple_(*_KIND) > tuple_(*kind_row) if kind is None else _KIND[1] > kind_row.action
        kind_row = fetch_one(connection.execute(query.where(behind)), AuditEventKind)
