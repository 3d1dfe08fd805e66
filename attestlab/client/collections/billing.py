"""`lab.billing`: what the tenant subscribes to, what that allows and costs, and how much of it is used."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import cast
from uuid import uuid4

from attestlab.client import arguments
from attestlab.client.collections.base import Collection
from attestlab.client.handles.billing import (
    AddOnHandle,
    BillingPortalHandle,
    EntitlementsHandle,
    InvoiceHandle,
    OfferedAddOnHandle,
    PlanHandle,
    SubscriptionHandle,
    SubscriptionPreviewHandle,
    UsageHandle,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import Json, ServiceClient

_PATH = "/v1/billing"


@name_in_examples("billing")
class BillingCollection(Collection[InvoiceHandle]):
    """The tenant's invoices, newest first, and the verbs of its subscription.

    Reads need the scope `billing:read`, changes and previews `billing:write`.
    """

    noun = "an invoice"
    path = f"{_PATH}/invoices"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, InvoiceHandle)

    def plans(self) -> builtins.list[PlanHandle]:
        """List all plans with their limits and prices, the smallest first.

        Returns:
            The four plans; the price of ENTERPRISE is None, because it is agreed with the operator.

        >>> [plan.plan for plan in lab.billing.plans()]
        ['FREE', 'STARTER', 'PROFESSIONAL', 'ENTERPRISE']
        """
        return [PlanHandle.parse(self._client, each) for each in self._read_items("plans")]

    def subscription(self) -> SubscriptionHandle:
        """Return the tenant's subscription: its plan, its add-ons and what they cost a month.

        >>> lab.billing.subscription().plan == lab.me().plan
        True
        """
        return SubscriptionHandle.parse(self._client, self._client.get(f"{_PATH}/subscription"))

    def preview(self, plan: str | None = None, *, addons: Mapping[str, int] | None = None) -> SubscriptionPreviewHandle:
        """Preview a change: what it costs, from when on it holds, and which limits it alters. Nothing changes.

        Args:
            plan: FREE, STARTER or PROFESSIONAL; by default the current one.
            addons: the quantities that add-ons would have then, by key; 0 is detached.

        Returns:
            What is due at once, the draft of the next invoice, and each limit that would alter; `over` marks those
            that more is used of.

        Raises:
            ValidationFailed: there is no such plan or add-on, or a tenant cannot have such a quantity of one.
            Conflict: ENTERPRISE is agreed with the operator.

        >>> preview = lab.billing.preview(addons={"extra_issuers": 2})
        >>> preview.next_invoice.amount_minor
        2000
        """
        body: dict[str, object] = {"addons": dict(addons or {})}
        if plan is not None:
            body["plan"] = arguments.read_text(plan, name="plan")
        answer = self._client.post(f"{_PATH}/subscription/preview", body, is_read=True)
        return SubscriptionPreviewHandle.parse(self._client, answer)

    def change(self, plan: str) -> SubscriptionHandle:
        """Change the plan: a larger one holds now, a smaller one from the end of the period on.

        Args:
            plan: FREE, STARTER or PROFESSIONAL; the current one cancels a pending change.

        Returns:
            The subscription as it is then.

        Raises:
            ValidationFailed: there is no such plan.
            Conflict: ENTERPRISE is agreed with the operator, or in production only Stripe could charge the plan.

        >>> lab.billing.change(plan="STARTER").pending_plan
        'STARTER'
        >>> lab.billing.change(plan=lab.me().plan).pending_plan is None
        True
        """
        body = {"plan": arguments.read_text(plan, name="plan")}
        return SubscriptionHandle.parse(self._client, self._client.post(f"{_PATH}/subscription", body))

    def addons(self) -> builtins.list[OfferedAddOnHandle]:
        """List all add-ons with the price of a unit, and how many units the tenant has.

        Returns:
            Every add-on, whether attached or not.

        >>> [addon.addon_key for addon in lab.billing.addons()][:2]
        ['extra_verifications', 'extra_issuers']
        """
        return [OfferedAddOnHandle.parse(self._client, each) for each in self._read_items("addons")]

    def attach(self, addon: str, quantity: int = 1) -> AddOnHandle:
        """Attach an add-on, or set how many units the tenant has; more units are charged for the rest of the month.

        Args:
            addon: its key, such as `extra_issuers`.
            quantity: how many units there are then, 1 to 1,000.

        Returns:
            The attached add-on.

        Raises:
            ValidationFailed: there is no such add-on, or the quantity is not 1 to 1,000 (1 of `priority_support`).
            Conflict: in production only Stripe could charge more units.

        >>> lab.billing.attach("webhook_pack", 2).quantity
        2
        >>> lab.billing.detach("webhook_pack")
        """
        body = {"addon_key": arguments.read_text(addon, name="addon"), "quantity": quantity}
        return AddOnHandle.parse(self._client, self._client.post(f"{_PATH}/addons/attach", body))

    def detach(self, addon: str) -> None:
        """Detach an add-on with all its units; nothing is refunded.

        Args:
            addon: its key.

        Raises:
            NotFound: it is not attached.

        >>> attached = lab.billing.attach("extra_agents")
        >>> lab.billing.detach(attached.addon_key)
        >>> "extra_agents" in lab.billing.entitlements().addons
        False
        """
        body = {"addon_key": arguments.read_text(addon, name="addon")}
        self._client.send("POST", f"{_PATH}/addons/detach", body=body, key=str(uuid4()))

    def portal(self, return_url: str, *, provider: str | None = None, flow: str | None = None) -> BillingPortalHandle:
        """Make a link to the billing portal, where one person changes plan and add-ons and reads invoices.

        Args:
            return_url: where the person returns to: https, whose origin an organization of the tenant lists in its
                `return_origins`; in the sandbox also http on this machine.
            provider: stripe, paystack or flutterwave; by default stripe.
            flow: what the visit begins with: plan, addons or invoices; by default the plan.

        Returns:
            The link, which opens for five minutes, for each person who has it.

        Raises:
            ValidationFailed: no organization lists the origin, or there is no such provider or flow.
            Conflict: the provider is not configured, in production.

        >>> lab.billing.portal("http://127.0.0.1:3000/settings", flow="addons").embedded
        True
        """
        texts = {"return_url": return_url, "provider": provider, "flow": flow}
        body = {name: arguments.read_text(text, name=name) for name, text in texts.items() if text is not None}
        return BillingPortalHandle.parse(self._client, self._client.post(f"{_PATH}/portal", body))

    def usage(self, period: str | None = None) -> UsageHandle:
        """Return what the tenant used in a month, by resource and by day.

        Args:
            period: the month, such as `2026-11`; by default the current one.

        Raises:
            ValidationFailed: it is no month, or yet to come.

        >>> [item.resource for item in lab.billing.usage().items][:3]
        ['verifications', 'attestations', 'issuers']
        """
        query = {} if period is None else {"period": arguments.read_text(period, name="period")}
        return UsageHandle.parse(self._client, self._client.get(f"{_PATH}/usage", query))

    def entitlements(self) -> EntitlementsHandle:
        """Return what the tenant may use now: the limits of its plan with add-ons, and its features.

        >>> lab.billing.entitlements().features.priority_support
        False
        """
        return EntitlementsHandle.parse(self._client, self._client.get(f"{_PATH}/entitlements"))

    def preview_invoice(self) -> InvoiceHandle:
        """Return the draft of the next period's invoice, if nothing changes until then.

        >>> lab.billing.preview_invoice().status
        'draft'
        """
        return InvoiceHandle.parse(self._client, self._client.get(f"{self.path}/preview"))

    def _read_items(self, what: str) -> builtins.list[Json]:
        return cast("builtins.list[Json]", self._client.get(f"{_PATH}/{what}")["items"])
