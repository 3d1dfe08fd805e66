"""Stripe by its own package: portal sessions, subscriptions, and signed events.

A price of Stripe stands for a plan or an add-on by its `lookup_key`, which is `attestlab_` and the name: the price of
the plan STARTER has `attestlab_starter`, that of the add-on extra_issuers `attestlab_extra_issuers`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from attestlab.billing.providers.provider import (
    LINK_TTL,
    OpenedPortal,
    PortalFlow,
    PortalOrder,
    ProvidedSubscription,
    ProviderEvent,
)
from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.strict_json import parse_json
from attestlab.orgs.rules import AddOn, Plan
from attestlab.settings import Settings

if TYPE_CHECKING:
    from stripe import StripeClient, Subscription
    from stripe.params.billing_portal import SessionCreateParams

Answer = TypeVar("Answer")

API_URL: Final = "https://api.stripe.com"
TIMEOUT_S = 10
EVENT_TTL: Final = timedelta(minutes=5)  # Stripe signs an event again for each attempt
MAX_ID_LENGTH = 255
_FIRST_PLAN: Final = Plan.STARTER
_PAID: Final = frozenset({"active", "trialing", "past_due"})  # Stripe still tries to collect what is past due


class StripeProvider:
    """Speaks to Stripe with the key of the operator's account; `url` is that of Stripe's API."""

    is_embedded = False

    def __init__(self, api_key: str, webhook_secret: str, *, url: str = API_URL) -> None:
        self._webhook_secret = webhook_secret
        with naming_extras():
            from stripe import RequestsClient, StripeClient

        self._client: StripeClient = StripeClient(
            api_key,
            base_addresses={"api": url},
            http_client=RequestsClient(timeout=TIMEOUT_S),
            max_network_retries=0,
        )

    @classmethod
    def from_settings(cls, settings: Settings) -> StripeProvider | None:
        """Return the provider of an installation whose settings have both secrets of Stripe."""
        key, secret = settings.stripe_api_key, settings.stripe_webhook_secret
        if key is None or secret is None:
            return None
        return cls(key.get_secret_value(), secret.get_secret_value(), url=settings.stripe_url)

    def open_portal(self, order: PortalOrder) -> OpenedPortal:
        """Open Stripe's customer portal, or its checkout of the smallest paid plan for a tenant that pays for nothing.

        A tenant that Stripe does not know becomes a customer.

        Raises:
            Unavailable: Stripe did not answer, or refused.
        """
        customer = order.customer_id or self._create_customer(order)
        paid = self.find_subscription(customer)
        if paid is None and order.flow is not PortalFlow.INVOICES:
            return self._open_checkout(customer, order)
        wanted: SessionCreateParams = {"customer": customer, "return_url": order.return_url}
        if paid is not None and order.flow in (PortalFlow.PLAN, PortalFlow.ADDONS):
            wanted["flow_data"] = {"type": "subscription_update", "subscription_update": {"subscription": paid.id}}
        session = _ask(lambda: self._client.v1.billing_portal.sessions.create(wanted))
        return OpenedPortal(session.url, order.at + LINK_TTL, customer_id=customer)

    def find_subscription(self, customer_id: str) -> ProvidedSubscription | None:
        """Return the newest subscription that a customer pays for, or None.

        Raises:
            Unavailable: Stripe did not answer, or refused.
        """
        listed = _ask(lambda: self._client.v1.subscriptions.list({"customer": customer_id}))
        paid = [each for each in listed.data if each.status in _PAID]
        newest = max(paid, key=lambda each: each.created, default=None)
        return None if newest is None else _read_subscription(newest)

    def read_event(self, sent: bytes, signature: str | None, *, at: datetime) -> ProviderEvent:
        """Return the event that Stripe signed not more than five minutes before `at`.

        Raises:
            ValidationFailed: Stripe did not sign these bytes with our secret, or longer ago.
        """
        self._require_signature(sent, signature, at)
        document = parse_json(sent)
        event_id = document.get("id") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(event_id, str) or len(event_id) > MAX_ID_LENGTH:
            message = f"The body is no event of Stripe: it has no id of at most {MAX_ID_LENGTH} characters."
            raise ValidationFailed.of("/id", "event", message)
        return ProviderEvent(event_id, str(document.get("type", "")), _customer_of(document.get("data")))

    def _require_signature(self, sent: bytes, signature: str | None, at: datetime) -> None:
        """Require a signature of Stripe, whose age is that on the service's clock and not on the machine's."""
        from stripe import SignatureVerificationError, WebhookSignature

        try:
            WebhookSignature.verify_header(sent, signature, self._webhook_secret)
        except (SignatureVerificationError, UnicodeDecodeError):
            raise _signature_fault("is not that of Stripe for this body") from None
        if abs(at.timestamp() - _signed_at(signature or "")) > EVENT_TTL.total_seconds():
            raise _signature_fault(f"is older than {EVENT_TTL.seconds // 60} minutes")

    def _open_checkout(self, customer: str, order: PortalOrder) -> OpenedPortal:
        key = lookup_key(_FIRST_PLAN)
        prices = _ask(lambda: self._client.v1.prices.list({"lookup_keys": [key]})).data
        if not prices:
            raise Unavailable(f"Stripe has no price with the lookup key {key}. Ask the operator to create it.")
        session = _ask(
            lambda: self._client.v1.checkout.sessions.create(
                {
                    "mode": "subscription",
                    "customer": customer,
                    "line_items": [{"price": prices[0].id, "quantity": 1}],
                    "success_url": order.return_url,
                    "cancel_url": order.return_url,
                }
            )
        )
        return OpenedPortal(session.url or "", datetime.fromtimestamp(session.expires_at, UTC), customer_id=customer)

    def _create_customer(self, order: PortalOrder) -> str:
        tenant = str(order.tenant_id)
        customer = _ask(
            lambda: self._client.v1.customers.create(
                {"name": order.tenant_name, "metadata": {"tenant_id": tenant}},
                {"idempotency_key": f"attestlab-customer-{tenant}"},
            )
        )
        return customer.id


def _ask(call: Callable[[], Answer]) -> Answer:
    """Call Stripe.

    Raises:
        Unavailable: Stripe did not answer, or refused; its message may hold data of the operator, so it is left out.
    """
    from stripe import StripeError

    try:
        return call()
    except StripeError as error:
        name = type(error).__name__
        raise Unavailable(
            f"Stripe did not serve the request ({name}). Nothing was changed; try again.",
            details={"reason": "payment_provider_failed", "provider_error": error.code or name},
        ) from error


def _read_subscription(subscription: Subscription) -> ProvidedSubscription:
    """Read plan and add-ons from the prices of a subscription; prices that are none of ours are left out.

    Raises:
        Unavailable: an item has no price, as in answers of servers that only resemble Stripe; a tenant keeps its plan.
    """
    try:
        units = {item.price.lookup_key: item.quantity or 1 for item in subscription["items"]["data"]}
    except (AttributeError, KeyError):
        raise Unavailable(
            f"The subscription {subscription.id} has an item without a price, so its plan is unknown. Nothing was "
            "changed; check the address in ATTESTLAB_STRIPE_URL.",
            details={"reason": "payment_provider_failed", "provider_error": "no_price"},
        ) from None
    plan = next((plan for plan in Plan if lookup_key(plan) in units), None)
    addons = {addon: units[lookup_key(addon)] for addon in AddOn if lookup_key(addon) in units}
    return ProvidedSubscription(subscription.id, plan, addons)


def lookup_key(item: Plan | AddOn) -> str:
    """Return the lookup key of the price of a plan or an add-on.

    >>> lookup_key(Plan.STARTER)
    'attestlab_starter'
    """
    return f"attestlab_{item.lower()}"


def _customer_of(data: object) -> str | None:
    """Return the customer of the object that an event is about."""
    subject = data.get("object") if isinstance(data, dict) else None
    customer = subject.get("customer") if isinstance(subject, dict) else None
    return customer if isinstance(customer, str) else None


def _signed_at(signature: str) -> int:
    [moment, *_] = [part.partition("=")[2] for part in signature.split(",") if part.startswith("t=")]
    return int(moment)


def _signature_fault(reason: str) -> ValidationFailed:
    return ValidationFailed.of("/Stripe-Signature", "signature", f"The signature {reason}. Nothing was changed.")
