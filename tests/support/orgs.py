"""A tenant's people and keys over real HTTP: who signs in, who is invited, what is mailed to whom."""

from __future__ import annotations

import re
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import select

from attestlab.core.records import audited_write
from attestlab.core.records.audit import AuditEvent
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from attestlab.orgs import store
from attestlab.orgs.rules import Scope
from attestlab.orgs.service import ConsumerCreated, TenantCreated
from support.identity import add_user
from support.in_process_server import make_client

PASSWORD = "correct horse battery staple"
_TOKEN = re.compile(r"/invitations/accept\?token=([A-Za-z0-9_-]{43})\s")


@dataclass
class TenantClients:
    """A served installation, and one tenant of it."""

    lab: Installation
    url: str
    tenant: TenantCreated

    def anonymous(self) -> httpx.Client:
        return make_client(self.url)

    def with_key(self, *scopes: Scope, tenant: TenantCreated | None = None) -> httpx.Client:
        """A client with a fresh key that has these scopes."""
        return make_client(self.url, key=create_api_key(self.lab, tenant or self.tenant, *scopes))

    def sign_in(self, email: str, password: str = PASSWORD) -> httpx.Client:
        with self.anonymous() as client:
            answer = client.post("/v1/auth/login", json={"email": email, "password": password})
        assert answer.status_code == 200, answer.text
        return make_client(self.url, token=answer.json()["access_token"])

    def owner(self, tenant: TenantCreated | None = None) -> httpx.Client:
        tenant = tenant or self.tenant
        return self.sign_in(tenant.owner_email, tenant.owner_password)

    def person(self, roles: str, *, tenant: TenantCreated | None = None, email: str = "") -> tuple[str, httpx.Client]:
        """Let a person join with these roles and sign in; return their id and a client."""
        email = email or f"{roles.replace(' ', '.')}.{token_hex(3)}@people.example"
        row = add_user(self.lab, tenant or self.tenant, email, PASSWORD, roles=roles)
        return str(row.id), self.sign_in(email)

    def consumer(self, email: str = "ada@consumers.example") -> tuple[ConsumerCreated, httpx.Client]:
        made = self.lab.orgs.add_consumer(email, PASSWORD, name="Ada Lovelace")
        return made, self.sign_in(email)


def create_api_key(lab: Installation, tenant: TenantCreated, *scopes: Scope) -> str:
    """The secret of a fresh key of the tenant's."""
    caller = lab.orgs.service_caller(tenant.tenant_id)
    return lab.api_keys.create("A key", scopes=frozenset(scopes or Scope), caller=caller).secret


def forget_group_scopes(lab: Installation, tenant_id: UUID) -> None:
    """Makes the tenant's keys as old as those that could call risk, policies and webhooks without a scope."""
    keeper, now = lab.orgs.service_caller(tenant_id), lab.clock.now()
    context = AuditContext(tenant_id, keeper, "api_key.change", now)
    for row in lab.api_keys.list_page(caller=keeper, limit=100):
        with lab.storage.write() as tx:
            audited_write.change(tx, store.api_keys, row, {"has_group_scopes": None}, context)


def read_mailed_token(lab: Installation, address: str) -> str:
    """The token in the last mail to this address that waits to be carried."""
    return extract_token(read_mail_text(lab, address))


def read_mail_text(lab: Installation, address: str) -> str:
    """The text of the last mail to this address that waits to be carried."""
    with lab.storage.read() as connection:
        waiting = select(*mails.c).where(mails.c.recipient == address, mails.c.sealed != b"").order_by(mails.c.id)
        row = connection.execute(waiting).all()[-1]
    return lab.mails.text_of(LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed))


def extract_token(text: str) -> str:
    """The token of the link in an invitation."""
    found = _TOKEN.search(text)
    assert found is not None, text
    return found[1]


def accept_invitation(client: httpx.Client, token: str, password: str = PASSWORD, **more: Any) -> httpx.Response:
    return client.post("/v1/users/accept-invite", json={"token": token, "password": password, **more})


def read_audit_trail(lab: Installation, resource_id: str) -> list[tuple[str, str]]:
    """What was done to something and by what kind of actor, oldest first."""
    with lab.storage.read() as connection:
        query = select(AuditEvent.action, AuditEvent.actor_type).where(AuditEvent.resource_id == resource_id)
        return [(row.action, row.actor_type) for row in connection.execute(query.order_by(AuditEvent.seq))]
