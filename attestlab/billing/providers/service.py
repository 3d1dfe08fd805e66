"""Service for events of Stripe: what a tenant pays for at Stripe is what it has here.

An event only tells that something changed; what a customer has now is asked of Stripe. So events may come again, late
and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from attestlab.billing import accounts
from attestlab.billing.accounts import BillingAccount
from attestlab.billing.providers import store
from attestlab.billing.providers.choice import PaymentProviders
from attestlab.billing.providers.provider import ProvidedSubscription, ProviderEvent
from attestlab.billing.providers.stripe_adapter import StripeProvider
from attestlab.billing.providers.tables import ProviderEventRecord
from attestlab.billing.rules import Provider
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import AddOn, Plan

_STRIPE: Final = Provider.STRIPE
_ACTOR: Final = SystemActor("stripe")
_OF_SUBSCRIPTIONS = "customer.subscription."


@dataclass(frozen=True)
class StripeReading:
    """What Stripe answered about the customer of an event; `asked_at` is before the question."""

    event: ProviderEvent
    customer_id: str
    subscription: ProvidedSubscription | None
    asked_at: datetime


class StripeEvents:
    """Reads what Stripe sends, and brings tenants' subscriptions up to date.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, providers: PaymentProviders) -> None:
        self.storage = storage
        self.clock = clock
        self.providers = providers

    def read(self, sent: bytes, signature: str | None) -> ProviderEvent:
        """Return the event that Stripe signed.

        Raises:
            ValidationFailed: Stripe did not sign these bytes, or too long ago, or Stripe is not configured.
        """
        return self._get_stripe().read_event(sent, signature, at=self.clock.now())

    def find_changed_customer(self, event: ProviderEvent) -> str | None:
        """Return the customer about whom Stripe must be asked; None if the event changes nothing here.

        So it is if the event is not about a subscription, took effect before, or is about no customer of ours.
        """
        if event.customer_id is None or not event.kind.startswith(_OF_SUBSCRIPTIONS):
            return None
        with self.storage.read() as connection:
            if store.has_event(connection.execute, event.id, _STRIPE):
                return None
            customer = store.find_customer_of_id(connection.execute, event.customer_id, _STRIPE)
        return None if customer is None else customer.customer_id

    def ask(self, event: ProviderEvent, customer_id: str) -> StripeReading:
        """Ask Stripe what the customer of an event has now.

        Raises:
            Unavailable: Stripe did not answer; it sends the event again.
        """
        asked_at = self.clock.now()
        return StripeReading(event, customer_id, self._get_stripe().find_subscription(customer_id), asked_at)

    def apply(self, reading: StripeReading, *, tx: Transaction | None = None) -> None:
        """Give a tenant what it pays for, unless this event or a later reading did so before."""
        with self.storage.write(tx) as tx:
            customer = store.find_customer_of_id(tx.exec, reading.customer_id, _STRIPE)
            event, now = reading.event, self.clock.now()
            if customer is None or store.has_event(tx.exec, event.id, _STRIPE):
                return
            store.keep_event(tx, ProviderEventRecord(_STRIPE.value, event.id, event.kind[:80], now))
            if customer.read_at is None or reading.asked_at >= customer.read_at:
                context = AuditContext(customer.tenant_id, _ACTOR, "billing_customer.read", now)
                audited_write.change(tx, store.customers, customer, {"read_at": reading.asked_at}, context)
                account = accounts.load(tx.exec, customer.tenant_id)
                _bring_up_to_date(tx, account, reading.subscription, now)

    def _get_stripe(self) -> StripeProvider:
        if self.providers.stripe is None:
            message = "Stripe is not configured here, so no signature counts. Nothing was changed."
            raise ValidationFailed.of("/Stripe-Signature", "signature", message)
        return self.providers.stripe


def _bring_up_to_date(
    tx: Transaction, account: BillingAccount, paid: ProvidedSubscription | None, now: datetime
) -> None:
    """Give a tenant exactly what it pays for at Stripe; one that never paid there keeps what it has."""
    if paid is None and (account.subscription is None or account.subscription.provider != _STRIPE):
        return
    row = accounts.open_subscription(tx, account, _ACTOR, now)
    plan, addons = (Plan.FREE, {}) if paid is None else (paid.plan or Plan.FREE, paid.addons)
    changed = _set_contents(tx, account, plan, addons, now)
    is_first = row.paid_since is None and plan is not Plan.FREE
    changes = {
        "provider": (Provider.EMBEDDED if paid is None else _STRIPE).value,
        "covered_plan": plan.value,
        "pending_plan": None,
        "pending_at": None,
        "paid_since": now if is_first else row.paid_since,
    }
    account = accounts.load(tx.exec, account.tenant.id)
    account = accounts.change_subscription(tx, account, changes, _ACTOR, now)
    if is_first:
        accounts.publish_creation(tx, account, now)
    elif changed:
        accounts.publish_change(tx, account, changed, now)


def _set_contents(
    tx: Transaction, account: BillingAccount, plan: Plan, addons: Mapping[AddOn, int], now: datetime
) -> set[str]:
    """Set plan and add-ons without a charge, because Stripe charges them; return what changed."""
    changed = set()
    if account.plan is not plan:
        account = accounts.set_plan(tx, account, plan, _ACTOR, now)
        changed.add("plan")
    for addon in AddOn:
        units = addons.get(addon, 0)
        if account.addons.get(addon, 0) != units:
            accounts.set_quantity(tx, account, addon, units, _ACTOR, now)
            account = accounts.load(tx.exec, account.tenant.id)
            changed.add("addons")
    return changed
