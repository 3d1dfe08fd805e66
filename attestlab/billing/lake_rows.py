"""Rows of billing for analysis: what was used on each day, and the invoices."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, select

from attestlab.billing import accounts, rules, store
from attestlab.billing.tables import InvoiceRecord
from attestlab.billing.usage import DAILY, limit_of, usage_days
from attestlab.core.db.tables import iterate
from attestlab.orgs.usage import UsageDayRecord

ROWS_PER_FETCH = 2_000


class UsageRow(NamedTuple):
    """What a tenant used of a resource on one UTC day; `plan_limit` is the one that holds now."""

    tenant_id: UUID
    day: datetime
    resource: str
    used: int
    plan_limit: int | None


class InvoiceRow(NamedTuple):
    """An invoice without its lines."""

    id: UUID
    tenant_id: UUID
    number: str
    status: str
    period_start: datetime
    period_end: datetime
    currency: str
    amount_minor: int
    created_at: datetime


def select_usage(connection: Connection, tenant_id: UUID) -> Iterator[UsageRow]:
    """Return what a tenant used on each day."""
    allowance = accounts.load(connection.execute, tenant_id).allowance
    query = select(*usage_days.c).where(usage_days.c.tenant_id == tenant_id, usage_days.c.metric.in_(DAILY))
    for row in iterate(connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)), UsageDayRecord):
        day = datetime.combine(row.day, time(), UTC)
        yield UsageRow(row.tenant_id, day, row.metric, row.used, limit_of(allowance, row.metric))


def select_invoices(connection: Connection, tenant_id: UUID) -> Iterator[InvoiceRow]:
    """Return the invoices of a tenant."""
    query = select(*store.invoices.c).where(store.invoices.c.tenant_id == tenant_id)
    for row in iterate(connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)), InvoiceRecord):
        number = rules.invoice_number(row.tenant_id, row.serial)
        values = {name: getattr(row, name) for name in InvoiceRow._fields if name != "number"}
        yield InvoiceRow(number=number, **values)
