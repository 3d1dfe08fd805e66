"""How tenants pay: the providers, the billing portal, and what Stripe reports, made together."""

from __future__ import annotations

from attestlab.billing.portal_page.service import BillingPortal
from attestlab.billing.providers.choice import PaymentProviders
from attestlab.billing.providers.service import StripeEvents
from attestlab.core.clock import Clock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.settings import Settings


class Payments:
    """The services of paying, which share the configured providers."""

    def __init__(
        self, *, storage: Storage, clock: Clock, keyring: Keyring, settings: Settings, portal_url: str
    ) -> None:
        self.providers = PaymentProviders(settings, portal_url=portal_url)
        self.portal = BillingPortal(
            storage=storage,
            clock=clock,
            keyring=keyring,
            providers=self.providers,
            settings=settings,
            portal_url=portal_url,
        )
        self.stripe_events = StripeEvents(storage=storage, clock=clock, providers=self.providers)
