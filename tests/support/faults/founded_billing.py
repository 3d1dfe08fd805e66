"""Tenants that pay: by our own invoices, and at Stripe."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from attestlab.billing.portal_page.shapes import BillingPortalIn
from attestlab.billing.providers.provider import OpenedPortal, ProvidedSubscription, ProviderEvent
from attestlab.billing.providers.service import StripeReading
from attestlab.installation import Installation
from attestlab.orgs.rules import AddOn, Plan
from support.billing_portal import RETURN_URL, make_tenant


def keep_paying(lab: Installation) -> None:
    """Two tenants with invoices of ours and open links to the portal, and two customers of Stripe."""
    for plan, following, addon in (
        (Plan.STARTER, Plan.PROFESSIONAL, AddOn.EXTRA_ISSUERS),
        (Plan.PROFESSIONAL, Plan.STARTER, AddOn.EXTRA_AGENTS),
    ):
        pay_here(lab, plan, following, addon)
        pay_at_stripe(lab, plan, {addon: 1})


def pay_here(lab: Installation, plan: Plan, following: Plan, addon: AddOn) -> None:
    """A tenant that changes its plan, has an add-on and a detached one, and asks for the portal."""
    caller = lab.orgs.service_caller(make_tenant(lab, f"Pays for {plan}").tenant_id)
    lab.billing.change(plan, caller=caller)
    lab.billing.attach(addon, len(plan), caller=caller)
    lab.billing.attach(AddOn.WEBHOOK_PACK, caller=caller)
    lab.billing.detach(AddOn.WEBHOOK_PACK, caller=caller)
    lab.billing.change(following, caller=caller)
    wanted = BillingPortalIn(return_url=RETURN_URL)
    provider, order = lab.payments.portal.order(wanted, caller=caller)
    lab.payments.portal.open(wanted, provider.open_portal(order), caller=caller)


def pay_at_stripe(lab: Installation, plan: Plan, addons: Mapping[AddOn, int]) -> None:
    """A tenant whom Stripe knows, and an event after which Stripe was asked what the tenant pays for."""
    caller, now = lab.orgs.service_caller(make_tenant(lab, f"At Stripe for {plan}").tenant_id), lab.clock.now()
    customer_id = f"cus_{plan.lower()}"
    opened = OpenedPortal("https://billing.stripe.example/p", now + timedelta(minutes=5), customer_id=customer_id)
    lab.payments.portal.open(BillingPortalIn(return_url=RETURN_URL), opened, caller=caller)
    event = ProviderEvent(f"evt_{plan.lower()}", "customer.subscription.updated", customer_id)
    paid = ProvidedSubscription(f"sub_{plan.lower()}", plan, addons)
    lab.payments.stripe_events.apply(StripeReading(event, customer_id, paid, now))
