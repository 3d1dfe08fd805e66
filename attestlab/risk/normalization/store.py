"""Queries of raw events and mappings; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.risk.normalization.tables import RiskEvent, RiskEventRecord, RiskMapping, RiskMappingRecord

events = table_of(RiskEvent)
mappings = table_of(RiskMapping)


def find_newest_mapping(execute: Execute, tenant_id: UUID) -> RiskMappingRecord | None:
    """Find a tenant's newest own mapping; None if the defaults apply."""
    query = select(*mappings.c).where(mappings.c.tenant_id == tenant_id).order_by(mappings.c.version.desc()).limit(1)
    return fetch_one(execute(query), RiskMappingRecord)


def list_events(
    execute: Execute, tenant_id: UUID, *, event_type: str | None, before: int | None, limit: int
) -> Sequence[RiskEventRecord]:
    """List a tenant's raw events, newest first, before the number `before`."""
    query = select(*events.c).where(events.c.tenant_id == tenant_id)
    if event_type is not None:
        query = query.where(events.c.event_type == event_type)
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
