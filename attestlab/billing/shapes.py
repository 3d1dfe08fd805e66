"""Wire models of billing (CONTRACT 11.6)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.billing.rules import MAX_QUANTITY, InvoiceStatus, Provider, SubscriptionStatus
from attestlab.core.filters import NO_CONDITION, Filters
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.identity.shapes import PlanName
from attestlab.orgs.rules import AddOn, Plan

AddOnKey = Annotated[str, one_of(AddOn)]
InvoiceStatusName = Annotated[str, one_of(InvoiceStatus)]
SubscriptionStatusName = Annotated[str, one_of(SubscriptionStatus)]
ProviderName = Annotated[str, one_of(Provider)]
SentAddOnKey = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Quantity = Annotated[int, Field(ge=1, le=MAX_QUANTITY, strict=True)]
WantedQuantity = Annotated[int, Field(ge=0, le=MAX_QUANTITY, strict=True)]
WantedSwitch = Annotated[int, Field(ge=0, le=1, strict=True)]


class PlanIn(In, wire_name="subscription_change", source="CONTRACT 11.6"):
    """The plan to change to."""

    plan: Plan
    """The plan; the current one cancels a pending change. Format: FREE, STARTER or PROFESSIONAL."""


class WantedAddOns(In, wire_name="wanted_addons", source="CONTRACT 11.6"):
    """How many units of each add-on there would be; one that is left out stays as it is."""

    extra_verifications: WantedQuantity | None = None
    """Units of 10,000 verifications a day. Format: 0-1000."""
    extra_issuers: WantedQuantity | None = None
    """Units of 5 issuers. Format: 0-1000."""
    extra_agents: WantedQuantity | None = None
    """Units of 25 agents. Format: 0-1000."""
    webhook_pack: WantedQuantity | None = None
    """Units of 5 webhook endpoints. Format: 0-1000."""
    priority_support: WantedSwitch | None = None
    """Whether support answers first. Format: 1 for yes, 0 for no."""

    def quantities(self) -> dict[AddOn, int]:
        """Return the wanted quantities by add-on."""
        sent = {addon: getattr(self, addon.value) for addon in AddOn}
        return {addon: quantity for addon, quantity in sent.items() if quantity is not None}


class PreviewIn(In, wire_name="subscription_preview_input", source="CONTRACT 11.6"):
    """A change to preview; without a field, what it names stays as it is."""

    plan: Plan | None = None
    """The plan to change to. Format: FREE, STARTER or PROFESSIONAL."""
    addons: WantedAddOns = WantedAddOns()
    """The quantities of add-ons. Format: an object."""


class AttachIn(In, wire_name="addon_attachment_input", source="CONTRACT 11.6"):
    """An add-on to attach, or whose quantity to set."""

    addon_key: SentAddOnKey
    """The add-on. Format: a key that GET /v1/billing/addons lists."""
    quantity: Quantity = 1
    """How many units there are then. Format: 1-1000, by default 1; `priority_support` has no other."""


class DetachIn(In, wire_name="addon_detachment_input", source="SPEC POST /v1/billing/addons/detach"):
    """An add-on to detach, with all its units."""

    addon_key: SentAddOnKey
    """The add-on. Format: the key of an attached add-on."""


class UsageQuery(Filters, wire_name="usage_query", source="CONTRACT 11.6"):
    """The month whose usage is asked for."""

    period: Annotated[str | None, NO_CONDITION] = None
    """The month; the current one if left out. Format: YYYY-MM, in UTC."""


class LimitsOut(Out, wire_name="plan_limits", source="CONTRACT 2"):
    """What a tenant may have or use; null is without a limit."""

    requests_per_minute: int | None
    """Requests in a minute. Format: count, or null."""
    attestations_per_day: int | None
    """Attestations in a UTC day. Format: count, or null."""
    verifications_per_day: int | None
    """Verifications of the tenant's attestations in a UTC day. Format: count, or null."""
    issuers: int | None
    """Issuers, without revoked ones. Format: count, or null."""
    keys_per_issuer: int | None
    """Active and pending keys of one issuer. Format: count, or null."""
    webhook_endpoints: int | None
    """Webhook endpoints. Format: count, or null."""
    agents: int | None
    """Agents, without revoked ones. Format: count, or null."""
    policies: int | None
    """Policies, without archived ones. Format: count, or null."""
    versions_per_policy: int | None
    """Versions of one policy. Format: count, or null."""
    policy_attributes: int | None
    """Own attributes of policies. Format: count, or null."""
    verification_profiles: int | None
    """Verification profiles. Format: count, or null."""
    attestation_packs: int | None
    """Attestation packs. Format: count, or null."""
    receipt_types: int | None
    """Receipt types with an active version. Format: count, or null."""
    versions_per_receipt_type: int | None
    """Versions of one receipt type. Format: count, or null."""
    has_endpoint_limits: bool
    """Whether limits of single endpoints apply. Format: true or false."""


class PlanOut(Out, wire_name="priced_plan", source="CONTRACT 11.6"):
    """A plan with its price a month."""

    plan: PlanName
    """The plan. Format: FREE, STARTER, PROFESSIONAL or ENTERPRISE."""
    amount_minor: int | None
    """The price of a month; null if it is agreed with the operator. Format: the currency's minor unit."""
    currency: str
    """The currency. Format: ISO 4217."""
    limits: LimitsOut
    """What the plan allows. Format: an object."""


class PlansOut(Out, wire_name="priced_plans", source="CONTRACT 11.6"):
    """All plans, the smallest first."""

    items: list[PlanOut]
    """The plans. Format: the smallest first."""


class AddOnOut(Out, wire_name="addon", source="CONTRACT 11.6"):
    """An attached add-on."""

    addon_id: Uuid
    """The attachment. Format: UUID, 36 characters."""
    addon_key: AddOnKey
    """The add-on. Format: a key that GET /v1/billing/addons lists."""
    quantity: int
    """How many units the tenant has. Format: 1-1000."""
    status: Literal["active"]
    """Its state. Format: active."""
    attached_at: Moment
    """When it was attached. Format: RFC 3339, UTC."""


class DetachedOut(Out, wire_name="detached_addon", source="SPEC POST /v1/billing/addons/detach"):
    """An add-on that was detached."""

    addon_id: Uuid
    """The attachment. Format: UUID, 36 characters."""
    addon_key: AddOnKey
    """The add-on. Format: a key that GET /v1/billing/addons lists."""
    status: Literal["detached"]
    """Its state. Format: detached."""
    detached_at: Moment
    """When it was detached. Format: RFC 3339, UTC."""


class OfferedAddOnOut(Out, wire_name="offered_addon", source="CONTRACT 11.6"):
    """An add-on with its price a unit and month."""

    addon_key: AddOnKey
    """The add-on. Format: a key of CONTRACT 11.6."""
    name: str
    """Its name. Format: text."""
    effect: str
    """What a unit does. Format: text."""
    amount_minor: int
    """The price of a unit a month. Format: the currency's minor unit."""
    attached: bool
    """Whether the tenant has it. Format: true or false."""
    quantity: int
    """How many units the tenant has. Format: 0-1000."""


class OfferedAddOnsOut(Out, wire_name="offered_addons", source="CONTRACT 11.6"):
    """All add-ons."""

    items: list[OfferedAddOnOut]
    """The add-ons. Format: in a fixed order."""


class SubscriptionOut(Out, wire_name="subscription", source="CONTRACT 11.6"):
    """The subscription of a tenant."""

    id: Uuid
    """The subscription, whose id is that of the tenant. Format: UUID, 36 characters."""
    plan: PlanName
    """The plan that holds now. Format: FREE, STARTER, PROFESSIONAL or ENTERPRISE."""
    status: SubscriptionStatusName
    """Its state. Format: active."""
    current_period_start: Moment
    """When the current period began. Format: RFC 3339, UTC."""
    current_period_end: Moment
    """When the next period begins. Format: RFC 3339, UTC."""
    pending_plan: PlanName | None
    """The plan that follows; null if none does. Format: FREE, STARTER or PROFESSIONAL, or null."""
    pending_at: Moment | None
    """When the pending plan follows. Format: RFC 3339, UTC, or null."""
    provider: ProviderName
    """Who collects the payments. Format: embedded, stripe, paystack or flutterwave."""
    addons: list[AddOnOut]
    """The attached add-ons. Format: by their keys."""
    amount_minor: int
    """The sum of plan and add-ons a month. Format: the currency's minor unit."""
    currency: str
    """The currency. Format: ISO 4217."""


class InvoiceLineOut(Out, wire_name="invoice_line", source="CONTRACT 11.6"):
    """A line of an invoice."""

    description: str
    """What is charged. Format: text."""
    quantity: int
    """How many units. Format: from 1."""
    unit_amount_minor: int
    """The price of a unit. Format: the currency's minor unit."""
    amount_minor: int
    """The price of all units. Format: the currency's minor unit."""


class InvoiceOut(Out, wire_name="invoice", source="CONTRACT 11.6"):
    """An invoice, or the draft of the next one."""

    id: Uuid | None
    """The invoice; null for a draft. Format: UUID, 36 characters, or null."""
    number: str | None
    """Its number for people; null for a draft. Format: eight hexadecimal digits, a hyphen and a count, or null."""
    status: InvoiceStatusName
    """Its state. Format: draft, open, paid or void."""
    period_start: Moment
    """When the charged period begins. Format: RFC 3339, UTC."""
    period_end: Moment
    """When the charged period ends. Format: RFC 3339, UTC."""
    currency: str
    """The currency. Format: ISO 4217."""
    amount_minor: int
    """The sum of the lines. Format: the currency's minor unit."""
    lines: list[InvoiceLineOut]
    """What is charged. Format: the plan first."""
    created_at: Moment
    """When it was issued or drafted. Format: RFC 3339, UTC."""


class EffectOut(Out, wire_name="limit_effect", source="CONTRACT 11.6"):
    """A limit that a change alters."""

    resource: str
    """What the limit is about. Format: the name of a resource or limit."""
    limit_before: int | None
    """The limit now. Format: count, or null without a limit."""
    limit_after: int | None
    """The limit after the change. Format: count, or null without a limit."""
    used: int | None
    """What is used now; null for a limit that has no total use. Format: count, or null."""
    over: bool
    """Whether more is used than the new limit allows; that keeps working. Format: true or false."""


class PreviewOut(Out, wire_name="subscription_preview", source="CONTRACT 11.6"):
    """What a change would cost and alter; nothing changed."""

    effective_at: Moment
    """When the plan would hold; a smaller one from the end of the period on. Format: RFC 3339, UTC."""
    due_now_minor: int
    """What would be charged at once, for the rest of the month. Format: the currency's minor unit."""
    next_invoice: InvoiceOut
    """The draft of the next period's invoice. Format: an object."""
    effects: list[EffectOut]
    """The limits that would alter. Format: may be empty."""


class ResourceUseOut(Out, wire_name="resource_use", source="CONTRACT 11.6"):
    """How much of a limit is used."""

    resource: str
    """What is used. Format: the name of a resource."""
    used: int
    """What is used: today, or of a past month on the day with the most use. Format: count."""
    limit: int | None
    """The limit that holds now. Format: count, or null without a limit."""
    remaining: int | None
    """What is left. Format: count, or null without a limit."""
    percent: int | None
    """The use of the limit. Format: whole percent, rounded down, or null without a limit."""
    resets_at: Moment | None
    """When a daily count begins again. Format: RFC 3339, UTC, or null."""


class DayUseOut(Out, wire_name="day_use", source="CONTRACT 11.6"):
    """What was used on one UTC day."""

    day: str
    """The day. Format: YYYY-MM-DD."""
    verifications: int
    """Verifications of the tenant's attestations. Format: count."""
    attestations: int
    """Attestations that were minted. Format: count."""


class UsageOut(Out, wire_name="usage", source="CONTRACT 11.6"):
    """What a tenant used in a month."""

    period_start: Moment
    """When the month began. Format: RFC 3339, UTC."""
    period_end: Moment
    """When the next month begins. Format: RFC 3339, UTC."""
    items: list[ResourceUseOut]
    """The use of each limit. Format: daily resources first; of a past month these alone."""
    daily: list[DayUseOut]
    """The use of each day until today. Format: oldest first."""


class FeaturesOut(Out, wire_name="plan_features", source="CONTRACT 11.6"):
    """Features that are on or off."""

    priority_support: bool
    """Whether support answers this tenant first. Format: true or false."""


class EntitlementsOut(Out, wire_name="entitlements", source="CONTRACT 11.6"):
    """What a tenant may use now."""

    plan: PlanName
    """The plan that holds now. Format: FREE, STARTER, PROFESSIONAL or ENTERPRISE."""
    limits: LimitsOut
    """The limits, with the operator's adjustments and add-ons. Format: an object."""
    features: FeaturesOut
    """The features. Format: an object."""
    addons: dict[str, int]
    """The quantities of the attached add-ons. Format: by key."""
