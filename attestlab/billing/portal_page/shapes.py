"""Wire models of the billing portal."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from attestlab.billing.providers.provider import PortalFlow
from attestlab.billing.rules import Provider
from attestlab.core.shapes import In, Moment, Out, SecretText, one_of

PROVIDERS = (Provider.STRIPE, Provider.PAYSTACK, Provider.FLUTTERWAVE)


class BillingPortalIn(In, source="CONTRACT 11.6"):
    """Where a visitor of the billing portal returns to, and what the visit begins with."""

    return_url: str = Field(min_length=1, max_length=2048)
    """Where the visitor returns to. Format: absolute https URL, whose origin an organization of the tenant lists in
    return_origins; in the sandbox also http on the local machine."""
    provider: Literal[Provider.STRIPE, Provider.PAYSTACK, Provider.FLUTTERWAVE] | None = None
    """The provider of payments; left out, it is stripe. Format: stripe, paystack or flutterwave."""
    flow: PortalFlow | None = None
    """What the visit begins with; left out, it is the plan. Format: plan, addons or invoices."""


class BillingPortalOut(Out, source="CONTRACT 11.6"):
    """A link to the billing portal of one tenant, for each person who has it."""

    portal_url: SecretText
    """The link. Format: URL."""
    expires_at: Moment
    """When the link stops to open the portal. Format: UTC time, five minutes after the request."""
    provider: Annotated[str, one_of(PROVIDERS)]
    """The provider that was named. Format: stripe, paystack or flutterwave."""
    embedded: bool
    """Whether the portal is a page of this service, which stands in for the provider and charges nothing.

    Format: true or false.
    """
