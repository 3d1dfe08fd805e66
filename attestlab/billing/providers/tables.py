"""Tables of providers of payments: the customers that tenants are for them, and the events that they sent."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class ProviderCustomerRecord(NamedTuple):
    """A tenant as a provider of payments knows it; `read_at` is when the state that we have was asked for."""

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    provider: Annotated[str, Field(primary_key=True, max_length=16)]
    customer_id: Annotated[str, Field(max_length=255, index=True)]
    created_at: datetime
    read_at: datetime | None = None


@short_repr
class ProviderEventRecord(NamedTuple):
    """An event that a provider sent and that took effect; sent again, it has none."""

    provider: Annotated[str, Field(primary_key=True, max_length=16)]
    event_id: Annotated[str, Field(primary_key=True, max_length=255)]
    kind: Annotated[str, Field(max_length=80)]
    received_at: datetime


ProviderCustomer = model_of(ProviderCustomerRecord, "billing_customers")
ProviderEvent = model_of(ProviderEventRecord, "billing_provider_events")
