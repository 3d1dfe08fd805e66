"""The choice of a provider: the named one where its key is set, else in the sandbox the embedded one."""

from __future__ import annotations

from attestlab.billing.providers.embedded import EmbeddedProvider
from attestlab.billing.providers.provider import PaymentProvider
from attestlab.billing.providers.stripe_adapter import StripeProvider
from attestlab.billing.rules import Provider
from attestlab.core.errors import Conflict
from attestlab.settings import PREFIX, Settings, Stage


class PaymentProviders:
    """The providers of an installation."""

    def __init__(self, settings: Settings, *, portal_url: str) -> None:
        self.stripe = StripeProvider.from_settings(settings)
        self._embedded = None if settings.env is Stage.PRODUCTION else EmbeddedProvider(portal_url)

    def find(self, name: Provider) -> PaymentProvider:
        """Return the provider of a name, or the embedded one, which stands in for it in the sandbox.

        Raises:
            Conflict: the provider has no key, and nothing stands in for it in production.
        """
        if name is Provider.STRIPE and self.stripe is not None:
            return self.stripe
        if self._embedded is not None:
            return self._embedded
        remedy = (
            f"Ask the operator to set {PREFIX}STRIPE_API_KEY."
            if name is Provider.STRIPE
            else "This version has no adapter for it; name stripe."
        )
        raise Conflict(
            f"The payment provider {name} is not configured. {remedy}",
            details={"reason": "provider_not_configured", "provider": name.value},
        )
