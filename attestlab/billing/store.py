"""Queries of billing; every query names its columns and binds values as parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select

from attestlab.billing.rules import Line
from attestlab.billing.tables import (
    Invoice,
    InvoiceRecord,
    SubscribedAddOn,
    SubscribedAddOnRecord,
    Subscription,
    SubscriptionRecord,
    UsageThreshold,
)
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.upserts import Upsert
from attestlab.core.errors import NotFound

subscriptions = table_of(Subscription)
subscribed_addons = table_of(SubscribedAddOn)
invoices = table_of(Invoice)
thresholds = table_of(UsageThreshold)

KEEP_THRESHOLD = Upsert(
    thresholds,
    key=("tenant_id", "resource", "period_start"),
    change=lambda new: {name: new[name] for name in ("threshold_percent", "reached_at")},
)


def find_subscription(execute: Execute, tenant_id: UUID) -> SubscriptionRecord | None:
    """Return the subscription of a tenant, or None if it never changed."""
    query = select(*subscriptions.c).where(subscriptions.c.tenant_id == tenant_id)
    return fetch_one(execute(query), SubscriptionRecord)


def list_due(execute: Execute, now: datetime, *, limit: int) -> list[SubscriptionRecord]:
    """List subscriptions whose charged period is over, the longest over first."""
    due = select(*subscriptions.c).where(subscriptions.c.billed_until <= now)
    return fetch_all(execute(due.order_by(subscriptions.c.billed_until).limit(limit)), SubscriptionRecord)


def list_addons(execute: Execute, tenant_id: UUID) -> list[SubscribedAddOnRecord]:
    """List the add-ons that a tenant has or had, by their keys."""
    query = select(*subscribed_addons.c).where(subscribed_addons.c.tenant_id == tenant_id)
    return fetch_all(execute(query.order_by(subscribed_addons.c.addon_key)), SubscribedAddOnRecord)


def find_addon(execute: Execute, tenant_id: UUID, addon_key: str) -> SubscribedAddOnRecord | None:
    """Return an add-on that a tenant has or had, or None."""
    of_tenant = (subscribed_addons.c.tenant_id == tenant_id, subscribed_addons.c.addon_key == addon_key)
    return fetch_one(execute(select(*subscribed_addons.c).where(*of_tenant)), SubscribedAddOnRecord)


def get_invoice(execute: Execute, invoice_id: UUID, *, tenant_id: UUID) -> InvoiceRecord:
    """Return an invoice of a tenant.

    Raises:
        NotFound: the tenant has no such invoice.
    """
    query = select(*invoices.c).where(invoices.c.id == invoice_id, invoices.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), InvoiceRecord)
    if row is None:
        raise NotFound("invoice", invoice_id)
    return row


def page_invoices(
    connection: Connection, *, tenant_id: UUID, before: UUID | None, limit: int | None
) -> Sequence[InvoiceRecord]:
    """List the invoices of a tenant, newest first; all of them without a limit."""
    found = select(*invoices.c).where(invoices.c.tenant_id == tenant_id)
    if before is not None:
        last = select(invoices.c.serial).where(invoices.c.id == before, invoices.c.tenant_id == tenant_id)
        found = found.where(invoices.c.serial < last.scalar_subquery())
    return fetch_all(connection.execute(found.order_by(invoices.c.serial.desc()).limit(limit)), InvoiceRecord)


def next_serial(execute: Execute, tenant_id: UUID) -> int:
    """Return the serial of a tenant's next invoice; the caller holds the writer's lock."""
    last: int | None = execute(select(func.max(invoices.c.serial)).where(invoices.c.tenant_id == tenant_id)).scalar()
    return (last or 0) + 1


def find_threshold(execute: Execute, tenant_id: UUID, resource: str, period_start: datetime) -> int | None:
    """Return the highest threshold that was reached in a period, in percent, or None."""
    key = {"tenant_id": tenant_id, "resource": resource, "period_start": period_start}
    query = select(thresholds.c.threshold_percent).where(*(thresholds.c[name] == value for name, value in key.items()))
    percent: int | None = execute(query).scalar()
    return percent


def encode_lines(lines: Iterable[Line]) -> str:
    """Encode the lines of an invoice as a JSON array of objects."""
    return json.dumps([line._asdict() for line in lines], ensure_ascii=False)


def decode_lines(stored: str) -> list[Line]:
    """Decode the lines of an invoice."""
    return [Line(**line) for line in json.loads(stored)]
