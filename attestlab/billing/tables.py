"""Tables of billing; a tenant's plan and the quantities of its add-ons, from which limits follow, are in `tenants`.

Invoices, subscriptions and add-ons are audited. A tenant without a subscription never changed its plan, and nothing was
charged.
"""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class SubscriptionRecord(NamedTuple):
    """The subscription of a tenant, which has the tenant's id.

    `covered_plan` is the largest plan that is charged until `billed_until`, the end of the last charged period.
    `pending_plan` replaces the tenant's plan at `pending_at`. `paid_since` is when the tenant first had a paid plan.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    status: Annotated[str, Field(max_length=16)]
    provider: Annotated[str, Field(max_length=16)]
    covered_plan: Annotated[str, Field(max_length=16)]
    billed_until: Annotated[datetime, Field(index=True)]
    pending_plan: Annotated[str | None, Field(max_length=16)]
    pending_at: datetime | None
    paid_since: datetime | None
    created_at: datetime
    updated_at: datetime


@short_repr
class SubscribedAddOnRecord(NamedTuple):
    """An add-on that a tenant has or had; `covered_quantity` of it is charged until the end of the period."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    addon_key: Annotated[str, Field(max_length=32)]
    quantity: int
    covered_quantity: int
    attached_at: datetime
    detached_at: datetime | None = None


@short_repr
class InvoiceRecord(NamedTuple):
    """An invoice of a tenant; `serial` counts its own invoices, and `lines` is a JSON array of objects."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    serial: int
    status: Annotated[str, Field(max_length=8)]
    period_start: datetime
    period_end: datetime
    currency: Annotated[str, Field(max_length=3)]
    amount_minor: Annotated[int, Field(sa_type=BigInteger)]
    lines: str
    created_at: datetime


@short_repr
class UsageThresholdRecord(NamedTuple):
    """The highest threshold that a tenant's use of a resource reached in a period: a UTC day or a month."""

    tenant_id: Annotated[UUID, Field(primary_key=True)]
    resource: Annotated[str, Field(primary_key=True, max_length=32)]
    period_start: Annotated[datetime, Field(primary_key=True)]
    threshold_percent: int
    reached_at: datetime


Subscription = model_of(SubscriptionRecord, "subscriptions")
SubscribedAddOn = model_of(
    SubscribedAddOnRecord,
    "subscribed_addons",
    Index("ux_subscribed_addons_of_tenant", "tenant_id", "addon_key", unique=True),
)
Invoice = model_of(
    InvoiceRecord,
    "invoices",
    Index("ux_invoices_of_tenant", "tenant_id", "serial", unique=True),
)
UsageThreshold = model_of(UsageThresholdRecord, "usage_thresholds")
