"""Tables and queries of raw events and mappings; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text, select
from sqlmodel import Field

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.filters import build_conditions
from attestlab.core.records.hash_chain import SEQUENCE_TYPE
from attestlab.risk.normalization.shapes import EventsQuery


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
