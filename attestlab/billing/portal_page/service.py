"""Service for the billing portal: give out a link, admit a browser, and let it act for the tenant."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, cast
from uuid import UUID

from attestlab.billing.portal_page import rules, store
from attestlab.billing.portal_page.rules import PortalSession
from attestlab.billing.portal_page.shapes import BillingPortalIn
from attestlab.billing.portal_page.tables import PortalLinkRecord
from attestlab.billing.providers import store as provider_store
from attestlab.billing.providers.choice import PaymentProviders
from attestlab.billing.providers.embedded import hash_token
from attestlab.billing.providers.provider import OpenedPortal, PaymentProvider, PortalOrder
from attestlab.billing.providers.tables import ProviderCustomerRecord
from attestlab.billing.rules import Provider
from attestlab.core.clock import Clock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Gone, PermissionDenied
from attestlab.core.ids import new_id
from attestlab.core.records import audit, audited_write
from attestlab.core.records.actors import ActorType
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import is_active, is_manager, parse_roles
from attestlab.orgs.rules import ApiKeyStatus, Caller, Scope
from attestlab.orgs.tables import ApiKeyRecord, UserRecord
from attestlab.settings import Settings, Stage

_SCOPES = frozenset({Scope.BILLING_READ, Scope.BILLING_WRITE})


class PortalLink(NamedTuple):
    """A link to the portal of a provider, for each person who has it."""

    provider: Provider
    opened: OpenedPortal


@dataclass(frozen=True)
class PortalVisit:
    """A browser that was admitted: for whom it acts, and what its cookie and its forms carry."""

    caller: Caller
    tenant_name: str
    link: PortalLinkRecord
    cookie: str = field(repr=False)
    form_token: str = field(repr=False)

    def require_form(self, token: str) -> None:
        """Require that a form is one of this visit's pages.

        Raises:
            PermissionDenied: another page sent it, or a page of another visit.
        """
        if not hmac.compare_digest(token.encode(), self.form_token.encode()):
            raise PermissionDenied("This form is not of the page that is open in this browser.")


class BillingPortal:
    """Links to the billing portal, and the visits of browsers that opened one.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        keyring: Keyring,
        providers: PaymentProviders,
        settings: Settings,
        portal_url: str,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.keyring = keyring
        self.providers = providers
        self.is_sandbox = settings.env is Stage.SANDBOX
        self.has_https = portal_url.startswith("https:")

    def order(self, wanted: BillingPortalIn, *, caller: Caller) -> tuple[PaymentProvider, PortalOrder]:
        """Return what to ask of which provider.

        Raises:
            ValidationFailed: the return URL is not of a site that an organization of the tenant lists.
            Conflict: the provider is not configured.
        """
        name = wanted.provider or Provider.STRIPE
        with self.storage.read() as connection:
            origins = store.list_return_origins(connection.execute, caller.tenant_id)
            tenant = org_store.get_tenant(connection.execute, caller.tenant_id)
            customer = provider_store.find_customer(connection.execute, caller.tenant_id, name)
        url = rules.require_return_url(wanted.return_url, origins=origins, is_sandbox=self.is_sandbox)
        order = PortalOrder(
            tenant.id, tenant.name, url, wanted.flow, customer and customer.customer_id, self.clock.now()
        )
        return self.providers.find(name), order

    def open(
        self, wanted: BillingPortalIn, opened: OpenedPortal, *, caller: Caller, tx: Transaction | None = None
    ) -> PortalLink:
        """Keep what a provider opened, and return its link."""
        name, now = wanted.provider or Provider.STRIPE, self.clock.now()
        with self.storage.write(tx) as tx:
            if opened.customer_id is not None:
                _keep_customer(tx, name, opened.customer_id, caller, now)
            if opened.link_sha256 is not None:
                self._keep_link(tx, wanted, opened, opened.link_sha256, caller, now)
            facts = {"provider": name.value, "embedded": opened.is_embedded}
            tenant, kind = caller.tenant_id, "billing_portal"
            audit.record(tx, AuditEntry(tenant, caller, f"{kind}.open", kind, str(tenant), now, metadata=facts))
        return PortalLink(name, opened)

    def enter(self, token: str) -> PortalVisit:
        """Admit a browser by a link, as often as it is opened until it expires.

        Raises:
            Gone: the link is unknown or expired, or who asked for it may no longer change what is paid.
        """
        now = self.clock.now()
        with self.storage.read() as connection:
            link = store.find_link_of_token(connection.execute, hash_token(token))
            if link is None or now >= link.expires_at:
                raise _portal_closed()
            return self._visit(connection.execute, PortalSession(link.id, now + rules.SESSION_TTL), link)

    def resume(self, cookie: str) -> PortalVisit:
        """Admit a browser by the cookie of its session.

        Raises:
            Gone: the session is over, or who asked for its link may no longer change what is paid.
        """
        session = rules.read_cookie(cookie, self.keyring)
        with self.storage.read() as connection:
            link = None if session is None else store.find_link(connection.execute, session.link_id)
            if session is None or link is None or self.clock.now() >= session.ends_at:
                raise _portal_closed()
            return self._visit(connection.execute, session, link)

    def _visit(self, execute: Execute, session: PortalSession, link: PortalLinkRecord) -> PortalVisit:
        _require_authority(execute, link, self.clock.now())
        tenant = org_store.get_tenant(execute, link.tenant_id)
        caller = Caller(
            tenant.id,
            cast(ActorType, link.actor_type),
            link.actor_id,
            _SCOPES,
            tenant.plan,
            adjusted=tenant.adjusted,
            addons=tenant.addons,
        )
        cookie = rules.write_cookie(session, self.keyring)
        return PortalVisit(caller, tenant.name, link, cookie, rules.form_token(link.id, self.keyring))

    def _keep_link(
        self,
        tx: Transaction,
        wanted: BillingPortalIn,
        opened: OpenedPortal,
        token_sha256: bytes,
        caller: Caller,
        now: datetime,
    ) -> None:
        store.delete_links(tx.exec, caller.tenant_id, before=now - rules.SESSION_TTL)
        row = PortalLinkRecord(
            id=new_id(now),
            tenant_id=caller.tenant_id,
            token_sha256=token_sha256,
            actor_type=caller.actor_type,
            actor_id=caller.actor_id,
            return_url=wanted.return_url,
            flow=None if wanted.flow is None else wanted.flow.value,
            created_at=now,
            expires_at=opened.expires_at,
        )
        tx.add(store.links, row._asdict())


def _keep_customer(tx: Transaction, name: Provider, customer_id: str, caller: Caller, now: datetime) -> None:
    """Keep the customer that a tenant has become; the first one stays."""
    if provider_store.find_customer(tx.exec, caller.tenant_id, name) is None:
        row = ProviderCustomerRecord(caller.tenant_id, name.value, customer_id, now)
        context = AuditContext(caller.tenant_id, caller, "billing_customer.create", now)
        audited_write.insert(tx, provider_store.customers, row, context)


def _require_authority(execute: Execute, link: PortalLinkRecord, now: datetime) -> None:
    """Require that the person or key that asked for a link could ask for it now.

    Raises:
        Gone: the person was removed or has another role, or the key was revoked or expired.
    """
    if link.actor_type == "USER":
        person = org_store.get_owned(execute, UserRecord, UUID(link.actor_id), tenant_id=link.tenant_id)
        allowed = is_active(person.status) and is_manager(parse_roles(person.roles))
    elif link.actor_type == "API_KEY":
        key = org_store.get_owned(execute, ApiKeyRecord, UUID(link.actor_id), tenant_id=link.tenant_id)
        allowed = key.status == ApiKeyStatus.ACTIVE and (key.expires_at is None or now < key.expires_at)
    else:
        allowed = True  # the service itself, in the same process
    if not allowed:
        raise _portal_closed()


def _portal_closed() -> Gone:
    return Gone("billing portal", "of this link or session")
