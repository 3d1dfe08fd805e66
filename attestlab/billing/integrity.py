"""Integrity check of billing: the threshold that a tenant's use reached in a period is the last one published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, select

from attestlab.billing import store
from attestlab.billing.events import UsageThresholdReached
from attestlab.billing.tables import UsageThresholdRecord
from attestlab.core.db.tables import iterate, table_of
from attestlab.core.encoding import format_time, parse_time
from attestlab.core.records.outbox import OutboxEvent

ROWS_PER_PAGE: Final = 500
_outbox = table_of(OutboxEvent)


class _Period(NamedTuple):
    """What a threshold is of."""

    tenant_id: UUID
    resource: str
    period_start: datetime


class _Reached(NamedTuple):
    """A threshold in percent, and when it was reached."""

    threshold_percent: int
    reached_at: datetime


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield thresholds that differ from their events, whose hash chain vouches for them, as (place, problem)."""
    published = _read_published(connection)
    rows = connection.execution_options(yield_per=ROWS_PER_PAGE).execute(select(*store.thresholds.c))
    for row in iterate(rows, UsageThresholdRecord):
        period = _Period(row.tenant_id, row.resource, row.period_start)
        expected = published.pop(period, None)
        if expected != (row.threshold_percent, row.reached_at):
            yield _name(period), "the threshold differs from the last event of its period"
    for period in published:
        yield _name(period), "the threshold that an event reports is missing"


def _read_published(connection: Connection) -> dict[_Period, _Reached]:
    """Read the last event of each tenant, resource and period."""
    query = select(_outbox.c.tenant_id, _outbox.c.body).where(_outbox.c.type == UsageThresholdReached.type)
    published: dict[_Period, _Reached] = {}
    for tenant_id, body in connection.execution_options(yield_per=ROWS_PER_PAGE).execute(query.order_by(_outbox.c.seq)):
        data = json.loads(body)["data"]
        period = _Period(tenant_id, data["resource"], parse_time(data["period_start"]))
        published[period] = _Reached(data["threshold_percent"], parse_time(data["reached_at"]))
    return published


def _name(period: _Period) -> str:
    return f"threshold {period.tenant_id} {period.resource} {format_time(period.period_start)}"
