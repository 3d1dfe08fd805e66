"""Queries of providers; every query names its columns and binds values as parameters."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select

from attestlab.billing.providers.tables import (
    ProviderCustomer,
    ProviderCustomerRecord,
    ProviderEvent,
    ProviderEventRecord,
)
from attestlab.billing.rules import Provider
from attestlab.core.db.tables import Execute, fetch_one, table_of
from attestlab.core.db.transaction import Transaction

customers = table_of(ProviderCustomer)
events = table_of(ProviderEvent)


def find_customer(execute: Execute, tenant_id: UUID, provider: Provider) -> ProviderCustomerRecord | None:
    """Return a tenant as a provider's customer."""
    of_tenant = (customers.c.tenant_id == tenant_id, customers.c.provider == provider.value)
    return fetch_one(execute(select(*customers.c).where(*of_tenant)), ProviderCustomerRecord)


def find_customer_of_id(execute: Execute, customer_id: str, provider: Provider) -> ProviderCustomerRecord | None:
    """Return the customer that a provider calls so."""
    of_customer = (customers.c.customer_id == customer_id, customers.c.provider == provider.value)
    return fetch_one(execute(select(*customers.c).where(*of_customer)), ProviderCustomerRecord)


def has_event(execute: Execute, event_id: str, provider: Provider) -> bool:
    """Return whether an event took effect."""
    of_event = (events.c.event_id == event_id, events.c.provider == provider.value)
    return execute(select(events.c.event_id).where(*of_event)).first() is not None


def keep_event(tx: Transaction, event: ProviderEventRecord) -> None:
    """Keep that an event took effect."""
    tx.add(events, event._asdict())
