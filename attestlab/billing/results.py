"""What the verbs of billing return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.billing.rules import BillingPeriod, Line, invoice_number
from attestlab.billing.store import decode_lines
from attestlab.billing.tables import InvoiceRecord, SubscribedAddOnRecord
from attestlab.billing.usage import DayUse, ResourceUse
from attestlab.orgs.plans import Allowance
from attestlab.orgs.rules import AddOn, Plan


class PricedPlan(NamedTuple):
    """A plan with its price a month, which is None if it is agreed with the operator."""

    plan: Plan
    amount_minor: int | None
    currency: str
    limits: Allowance


@dataclass(frozen=True, slots=True)
class SubscriptionState:
    """The subscription of a tenant, which has the tenant's id."""

    id: UUID
    plan: Plan
    status: str
    current_period_start: datetime
    current_period_end: datetime
    pending_plan: str | None
    pending_at: datetime | None
    provider: str
    addons: Sequence[SubscribedAddOnRecord]
    amount_minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class InvoiceState:
    """An invoice, or the draft of one, which has neither id nor number."""

    id: UUID | None
    number: str | None
    status: str
    period_start: datetime
    period_end: datetime
    currency: str
    amount_minor: int
    lines: Sequence[Line]
    created_at: datetime

    @classmethod
    def of(cls, row: InvoiceRecord) -> InvoiceState:
        """Return an issued invoice."""
        return cls(
            id=row.id,
            number=invoice_number(row.tenant_id, row.serial),
            status=row.status,
            period_start=row.period_start,
            period_end=row.period_end,
            currency=row.currency,
            amount_minor=row.amount_minor,
            lines=decode_lines(row.lines),
            created_at=row.created_at,
        )


class LimitEffect(NamedTuple):
    """How a change alters one limit; `used` is None for a limit that has no total use, such as that of a minute."""

    resource: str
    limit_before: int | None
    limit_after: int | None
    used: int | None

    @property
    def over(self) -> bool:
        """Whether more is used than the new limit allows."""
        return self.used is not None and self.limit_after is not None and self.used > self.limit_after


@dataclass(frozen=True, slots=True)
class ChangePreview:
    """What a change would cost and alter, and from when on."""

    effective_at: datetime
    due_now_minor: int
    next_invoice: InvoiceState
    effects: Sequence[LimitEffect]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tenant used in a period, by resource and by day."""

    period: BillingPeriod
    items: Sequence[ResourceUse]
    daily: Sequence[DayUse]


@dataclass(frozen=True, slots=True)
class Entitlements:
    """What a tenant may use now."""

    plan: Plan
    limits: Allowance
    addons: Mapping[AddOn, int]

    @property
    def has_priority_support(self) -> bool:
        """Whether support answers this tenant first."""
        return AddOn.PRIORITY_SUPPORT in self.addons


class OfferedAddOn(NamedTuple):
    """An add-on with its price a unit and month, and how many units the tenant has."""

    addon_key: AddOn
    name: str
    effect: str
    amount_minor: int
    quantity: int

    @property
    def attached(self) -> bool:
        """Whether the tenant has it."""
        return self.quantity > 0


class AttachedAddOn(NamedTuple):
    """An attached add-on; `is_new` unless only its quantity changed."""

    row: SubscribedAddOnRecord
    is_new: bool
