"""Raw events: their tables and queries, and the service that records, normalizes and normalizes them again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Index, Text, select
from sqlmodel import Field

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.filters import build_conditions
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.core.records.hash_chain import SEQUENCE_TYPE
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement.impartiality import EntityJudge
from attestlab.risk.links import LinkSource, note_links
from attestlab.risk.normalization.mapping import (
    DEFAULT_MAPPING,
    EventMapping,
    MappingItem,
    find_source,
    validate_items,
)
from attestlab.risk.normalization.shapes import EventsQuery
from attestlab.risk.numbering import UNNUMBERED, NumberedRows
from attestlab.risk.rules import Entity, EntityType, require_open_source
from attestlab.risk.signals import store as signal_store
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_signals
from attestlab.risk.signals.store import RiskSignalRecord


@short_repr
class RiskEventRecord(NamedTuple):
    """A raw event as it was sent; it never changes, so it can be normalized again.

    `seq` and `hash` are as in `risk_signals`.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    event_type: Annotated[str, Field(max_length=128)]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    data: Annotated[str, Field(max_length=8192)]
    occurred_at: datetime
    created_at: datetime
    hash: bytes = b""


RiskEvent = model_of(
    RiskEventRecord,
    "risk_events",
    Index("ix_risk_events_of_tenant", "tenant_id", "seq"),
    Index("ix_risk_events_by_time", "tenant_id", "occurred_at", "seq"),
    Index("ix_risk_events_id", "id", unique=True),
)


@short_repr
class RiskMappingRecord(NamedTuple):
    """A version of a tenant's mapping; it never changes. `items` is a JSON array."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    version: int
    items: Annotated[str, Field(sa_type=Text)]
    created_at: datetime
    created_by: Annotated[str, Field(max_length=64)]


RiskMapping = model_of(
    RiskMappingRecord, "risk_mappings", Index("ix_risk_mappings_of_tenant", "tenant_id", "version", unique=True)
)


events = table_of(RiskEvent)
mappings = table_of(RiskMapping)


def find_newest_mapping(execute: Execute, tenant_id: UUID) -> RiskMappingRecord | None:
    """Find a tenant's newest own mapping; None if the defaults apply."""
    query = select(*mappings.c).where(mappings.c.tenant_id == tenant_id).order_by(mappings.c.version.desc()).limit(1)
    return fetch_one(execute(query), RiskMappingRecord)


def list_events(
    execute: Execute, tenant_id: UUID, filters: EventsQuery, *, before: int | None, limit: int
) -> Sequence[RiskEventRecord]:
    """List the raw events of a tenant that filters select, newest first, before the number `before`."""
    query = select(*events.c).where(events.c.tenant_id == tenant_id, *build_conditions(filters, events.c))
    if before is not None:
        query = query.where(events.c.seq < before)
    return fetch_all(execute(query.order_by(events.c.seq.desc()).limit(limit)), RiskEventRecord)


def list_in_order(
    execute: Execute, tenant_id: UUID, *, since: datetime | None, until: datetime | None, after: int, limit: int
) -> Sequence[RiskEventRecord]:
    """List a tenant's raw events of a time range, oldest number first, after the number `after`."""
    query = select(*events.c).where(events.c.tenant_id == tenant_id, events.c.seq > after)
    if since is not None:
        query = query.where(events.c.occurred_at >= since)
    if until is not None:
        query = query.where(events.c.occurred_at < until)
    return fetch_all(execute(query.order_by(events.c.seq).limit(limit)), RiskEventRecord)


NUMBERED = NumberedRows(events, RiskEventRecord)
CHALLENGE_PASSED = "challenge.passed"
EVENTS_PER_SLICE = 200  # of one write while events are normalized again


@dataclass(frozen=True)
class RecordedEvent:
    """A raw event and its signal; `normalized` is false if the mapping does not know the event's type."""

    event: RiskEventRecord
    signal: RiskSignalRecord
    normalized: bool


@dataclass(frozen=True)
class EventPeriod:
    """The raw events that occurred from `since` up to but excluding `until`, with numbers above `after`."""

    since: datetime | None = None
    until: datetime | None = None
    after: int = -1


@dataclass(frozen=True)
class RenormalizedSlice:
    """A slice of events that were normalized again: how many, how many became another signal, and the last number.

    `last` is None after the last slice.
    """

    events: int
    changed: int
    last: int | None


class Normalization(EntityJudge):
    """The raw events of tenants and their mappings.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def record(
        self,
        event_type: str,
        entity: Entity,
        *,
        data: Mapping[str, object] | None = None,
        occurred_at: datetime,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> RecordedEvent:
        """Record a raw event and the signal that the tenant's mapping makes of it.

        `challenge.passed` about a user ends the flags on this user's logins until then.

        Raises:
            PermissionDenied: the caller is an agent, and the event's source is `agent`, or it confirms one of its tree.
        """
        require_open_source(find_source(event_type), caller.actor_type)
        with self.storage.write(tx) as tx:
            if event_type == CHALLENGE_PASSED and entity.type is EntityType.USER:
                self._impartiality.require(tx.exec, entity, caller=caller, verb="confirm")
                self._confirm_user(tx, caller.tenant_id, entity.id, occurred_at)
            return record_event(
                tx, caller.tenant_id, event_type, entity, data=data, occurred_at=occurred_at, at=self.clock.now()
            )

    def page(
        self, filters: EventsQuery, *, caller: Caller, before: int | None = None, limit: int = 50
    ) -> Sequence[RiskEventRecord]:
        """Return a page of the tenant's raw events that filters select, newest first, before the number `before`."""
        with self.storage.read() as connection:
            return list_events(connection.execute, caller.tenant_id, filters, before=before, limit=limit)

    def get_mapping(self, *, caller: Caller) -> EventMapping:
        """Return the tenant's mapping."""
        with self.storage.read() as connection:
            return load_mapping(connection, caller.tenant_id)

    def replace_mapping(
        self, items: Sequence[MappingItem], *, caller: Caller, tx: Transaction | None = None
    ) -> EventMapping:
        """Replace the tenant's mapping by its next version; recorded signals do not change.

        Raises:
            ValidationFailed: an item is invalid.
            PermissionDenied: the caller is an agent, and an item of the source `agent` is new, changed or missing.
        """
        validate_items(items)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            present = load_mapping(tx.connection, caller.tenant_id)
            for item in {*present.items} ^ {*items}:
                require_open_source(find_source(item.event_type), caller.actor_type)
            version = present.version + 1
            text = json.dumps([item._asdict() for item in items])
            row = RiskMappingRecord(new_id(now), caller.tenant_id, version, text, now, caller.actor_id)
            context = AuditContext(caller.tenant_id, caller, "risk_mapping.replace", now, {"version": version})
            audited_write.insert(tx, mappings, row, context)
            return EventMapping(version, items)

    def normalize_slice(self, period: EventPeriod, caller: Caller, tx: Transaction | None = None) -> RenormalizedSlice:
        """Normalize the next `EVENTS_PER_SLICE` raw events of a period again, with the present mapping.

        An event becomes another signal, which replaces the first, if the mapping changed its type or score.
        """
        with self.storage.write(tx) as tx:
            found = list_in_order(
                tx.exec,
                caller.tenant_id,
                since=period.since,
                until=period.until,
                after=period.after,
                limit=EVENTS_PER_SLICE,
            )
            mapping = load_mapping(tx.connection, caller.tenant_id)
            changed = [new for event in found if (new := _renormalize(tx, event, mapping)) is not None]
            record_signals(tx, caller.tenant_id, changed, at=self.clock.now())
            is_last = len(found) < EVENTS_PER_SLICE
            return RenormalizedSlice(len(found), len(changed), None if is_last else found[-1].seq)


def record_event(
    tx: Transaction,
    tenant_id: UUID,
    event_type: str,
    entity: Entity,
    *,
    data: Mapping[str, object] | None,
    occurred_at: datetime,
    at: datetime,
) -> RecordedEvent:
    """Record a raw event and the signal that the tenant's mapping makes of it."""
    event = RiskEventRecord(
        seq=UNNUMBERED,
        id=new_id(at),
        tenant_id=tenant_id,
        event_type=event_type,
        entity_type=entity.type.value,
        entity_id=entity.id,
        data=encode_details(data, member="data"),
        occurred_at=occurred_at,
        created_at=at,
    )
    mapping = load_mapping(tx.connection, tenant_id)
    NUMBERED.add(tx, [event])
    note_links(tx, [describe_link_source(event)])
    (signal,) = record_signals(tx, tenant_id, [_build_signal(event, mapping, None)], at=at)
    return RecordedEvent(event, signal, mapping.normalize(event_type).normalized)


def describe_link_source(event: RiskEventRecord) -> LinkSource:
    """Return what links are made of."""
    entity = (event.entity_type, event.entity_id)
    return LinkSource(event.tenant_id, find_source(event.event_type), *entity, event.data, event.occurred_at)


def load_mapping(connection: Connection, tenant_id: UUID) -> EventMapping:
    """Return a tenant's newest mapping, or the defaults."""
    row = find_newest_mapping(connection.execute, tenant_id)
    if row is None:
        return DEFAULT_MAPPING
    return EventMapping(row.version, [MappingItem(**item) for item in json.loads(row.items)])


def _renormalize(tx: Transaction, event: RiskEventRecord, mapping: EventMapping) -> NewSignal | None:
    """Return the signal that replaces an event's newest one, or None if that has the same type and score."""
    present = signal_store.find_of_event(tx.exec, event.id)
    normalized = mapping.normalize(event.event_type)
    if present is not None and (present.signal_type, present.score) == (normalized.signal_type, normalized.score):
        return None
    return _build_signal(event, mapping, None if present is None else present.id)


def _build_signal(event: RiskEventRecord, mapping: EventMapping, replaces: UUID | None) -> NewSignal:
    normalized = mapping.normalize(event.event_type)
    details = {"event_type": event.event_type, "mapping_version": mapping.version}
    return NewSignal(
        source=normalized.source,
        signal_type=normalized.signal_type,
        score=normalized.score,
        entity=Entity(EntityType(event.entity_type), event.entity_id),
        details=encode_details(details, normalized.factors, member="data"),
        occurred_at=event.occurred_at,
        event_id=event.id,
        replaces=replaces,
    )
