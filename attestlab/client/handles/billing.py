"""What the verbs of `lab.billing` return."""

from __future__ import annotations

from typing import ClassVar

from attestlab.billing.portal_page.shapes import BillingPortalOut
from attestlab.billing.shapes import (
    AddOnOut,
    DayUseOut,
    EffectOut,
    EntitlementsOut,
    InvoiceLineOut,
    InvoiceOut,
    OfferedAddOnOut,
    PlanOut,
    PreviewOut,
    ResourceUseOut,
    SubscriptionOut,
    UsageOut,
)
from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle


class InvoiceHandle(InvoiceOut, Handle):
    """An invoice, or the draft of the next one."""

    shown_fields: ClassVar = ("number", "status", "amount_minor", "currency", "period_start", "period_end")
    lines: Records[InvoiceLineOut]


class PlanHandle(PlanOut, Handle):
    """A plan with its limits and its price a month."""

    shown_fields: ClassVar = ("plan", "amount_minor", "currency")


class SubscriptionHandle(SubscriptionOut, Handle):
    """The tenant's subscription."""

    shown_fields: ClassVar = ("plan", "amount_minor", "currency", "pending_plan", "pending_at")
    addons: Records[AddOnOut]


class SubscriptionPreviewHandle(PreviewOut, Handle):
    """What a change would cost and alter."""

    shown_fields: ClassVar = ("effective_at", "due_now_minor")
    effects: Records[EffectOut]


class BillingPortalHandle(BillingPortalOut, Handle):
    """A link to the billing portal, for each person who has it."""

    shown_fields: ClassVar = ("provider", "embedded", "expires_at")


class UsageHandle(UsageOut, Handle):
    """What the tenant used in a month."""

    shown_fields: ClassVar = ("period_start", "period_end")
    items: Records[ResourceUseOut]
    daily: Records[DayUseOut]


class EntitlementsHandle(EntitlementsOut, Handle):
    """What the tenant may use now."""

    shown_fields: ClassVar = ("plan", "addons")


class OfferedAddOnHandle(OfferedAddOnOut, Handle):
    """An add-on with its price, and how many units of it the tenant has."""

    shown_fields: ClassVar = ("addon_key", "effect", "amount_minor", "quantity")


class AddOnHandle(AddOnOut, Handle):
    """An attached add-on."""

    shown_fields: ClassVar = ("addon_key", "quantity", "attached_at")
