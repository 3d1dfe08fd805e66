"""Queries for the audit trail; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, select, tuple_, union_all

from attestlab.core.db.tables import fetch_all, fetch_one, table_of
from attestlab.core.records.audit import AuditEvent

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


@dataclass(frozen=True)
class AuditFilter:
    """A filter of a tenant's audit events; `equal` maps columns to required values, None matches any value."""

    tenant_id: UUID
    equal: dict[str, str | None] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None

    def query(self) -> EventQuery:
        """Builds the query for all matching events, unordered."""
        query = select(*_COLUMNS).where(events.c.tenant_id == self.tenant_id)
        query = query.where(*(events.c[name] == value for name, value in self.equal.items() if value is not None))
        if self.since is not None:
            query = query.where(events.c.timestamp >= self.since)
        if self.until is not None:
            query = query.where(events.c.timestamp < self.until)
        return query if self.before is None else query.where(events.c.seq < self.before)

    @property
    def is_by_kind(self) -> bool:
        """Whether the filter names a resource type or action, but no actor or resource, which select better."""
        equal = {name for name, value in self.equal.items() if value is not None}
        return bool(equal & {"resource_type", "action"}) and not equal & {"actor_id", "resource_id"}


def list_events(connection: Connection, filter_: AuditFilter, *, limit: int) -> list[ChainedAuditEvent]:
    """Lists the newest matching events, newest first."""
    if not filter_.is_by_kind:
        return fetch_all(connection.execute(_newest(filter_.query(), limit)), ChainedAuditEvent)
    of_each = [
        _newest(filter_.query().where(*_matches_kind(kind)), limit).subquery()
        for kind in _iterate_kinds(connection, filter_)
    ]
    if not of_each:
        return []
    together = union_all(*(select(each) for each in of_each)).subquery()
    newest = select(together).order_by(together.c.seq.desc()).limit(limit)
    return fetch_all(connection.execute(newest), ChainedAuditEvent)


def _newest(query: EventQuery, limit: int) -> EventQuery:
    return query.order_by(events.c.seq.desc()).limit(limit)


def _matches_kind(kind: AuditEventKind) -> list[ColumnElement[bool]]:
    return [column == value for column, value in zip(_KIND, kind, strict=True)]


def _iterate_kinds(connection: Connection, filter_: AuditFilter) -> Iterator[AuditEventKind]:
    """Yields each matching pair of resource type and action in the trail: some dozens, one index lookup each.

    So one index serves filters by either column; every further index would slow down each write.
    """
    query = select(*_KIND).where(events.c.tenant_id == filter_.tenant_id).order_by(*_KIND).limit(1)
    kind, action = filter_.equal.get("resource_type"), filter_.equal.get("action")
    if kind is not None:
        query = query.where(_KIND[0] == kind)
    kind_row = fetch_one(connection.execute(query), AuditEventKind)
    while kind_row is not None:
        if action in (None, kind_row.action):
            yield kind_row
        # For one resource type, compare the action only: otherwise SQLite would read every event of later types.
        behind = tuple_(*_KIND) > tuple_(*kind_row) if kind is None else _KIND[1] > kind_row.action
        kind_row = fetch_one(connection.execute(query.where(behind)), AuditEventKind)
