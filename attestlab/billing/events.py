"""Events of billing; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class SubscriptionCreated(Event, type="billing.subscription.created"):
    """A tenant has its first paid plan."""

    subscription_id: UUID
    plan: str
    created_at: datetime


@dataclass(frozen=True)
class SubscriptionUpdated(Event, type="billing.subscription.updated"):
    """A subscription changed; `changed` lists the fields, separated by commas."""

    subscription_id: UUID
    plan: str
    changed: str
    updated_at: datetime


@dataclass(frozen=True)
class InvoiceCreated(Event, type="billing.invoice.created"):
    """An invoice was issued; `amount_minor` is in the currency's minor unit, such as cents (ISO 4217)."""

    invoice_id: UUID
    amount_minor: int
    currency: str
    created_at: datetime


@dataclass(frozen=True)
class UsageThresholdReached(Event, type="billing.usage.threshold"):
    """A tenant used 80, 90 or 100 percent of what its plan allows; each once a UTC day, or a month for counts."""

    resource: str
    threshold_percent: int
    used: int
    limit: int
    period_start: datetime
    reached_at: datetime
