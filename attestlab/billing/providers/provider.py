"""What a provider of payments is to us: a portal for the tenant, and a subscription that it charges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol
from uuid import UUID

from attestlab.orgs.rules import AddOn, Plan

LINK_TTL = timedelta(minutes=5)  # of a portal's link, as Stripe's


class PortalFlow(StrEnum):
    """What a visit of the portal begins with."""

    PLAN = "plan"
    ADDONS = "addons"
    INVOICES = "invoices"


class PortalOrder(NamedTuple):
    """What a tenant asks of a portal; `customer_id` is the provider's name for the tenant, if it has one."""

    tenant_id: UUID
    tenant_name: str
    return_url: str
    flow: PortalFlow | None
    customer_id: str | None
    at: datetime


@dataclass(frozen=True)
class OpenedPortal:
    """A link to a portal, for each person who has it.

    `link_sha256` is that of the token of a link to our own page. `customer_id` is the customer that the provider knows
    now, whom it may have created for this link.
    """

    url: str = field(repr=False)
    expires_at: datetime
    link_sha256: bytes | None = field(default=None, repr=False)
    customer_id: str | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether the portal is a page of this service."""
        return self.link_sha256 is not None


class ProvidedSubscription(NamedTuple):
    """What a customer of a provider pays for: a plan or none, and units of add-ons."""

    id: str
    plan: Plan | None
    addons: Mapping[AddOn, int]


class ProviderEvent(NamedTuple):
    """A signed message of a provider that something changed; `id` is the same each time it is sent."""

    id: str
    kind: str
    customer_id: str | None


class PaymentProvider(Protocol):
    """A provider of payments; no verb touches our records."""

    @property
    def is_embedded(self) -> bool:
        """Whether it is part of this service, so that no call reaches another host."""
        ...

    def open_portal(self, order: PortalOrder) -> OpenedPortal:
        """Open a portal for a tenant.

        Raises:
            Unavailable: the provider did not answer.
        """
        ...
