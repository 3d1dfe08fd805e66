"""Issuers who deliver, and consumers who read what was delivered to them, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import select

from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.accounts.tables import ConsumerAddressRecord
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan, Scope
from attestlab.orgs.service import TenantCreated
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.orgs import TenantClients, create_api_key

INBOX = "/v1/consumer/inbox"
Json = dict[str, Any]


@dataclass
class Recipient:
    """A consumer who signed in."""

    user_id: UUID
    tenant_id: UUID
    email: str
    username: str | None
    client: httpx.Client

    def list(self, **query: Any) -> Json:
        answer = self.client.get(INBOX, params=query)
        assert answer.status_code == 200, answer.text
        page: Json = answer.json()
        return page

    def only_item(self) -> Json:
        (item,) = self.list(read_state="ALL")["items"]
        found: Json = item
        return found


@dataclass
class Registry:
    """A tenant with an issuer, served by the real application."""

    lab: Installation
    client: httpx.Client
    tenant: TenantCreated
    issuer: Json
    clients: TenantClients
    mark: str  # in all addresses and usernames, so that tests can share an installation

    def address(self, name: str) -> str:
        """An address that no other test has."""
        return f"{name}.{self.mark}@people.example"

    def mint(self, **changes: Any) -> Json:
        answer = mint(self.client, make_mint_body(self.issuer, **changes))
        assert answer.status_code == 201, answer.text
        minted: Json = answer.json()
        return minted

    def deliver(self, attestation: Json, **body: Any) -> httpx.Response:
        return self.client.post(f"{INBOX}/deliver", json={"attestation_id": attestation["id"], **body})

    def delivered(self, attestation: Json, **body: Any) -> Json:
        answer = self.deliver(attestation, **body)
        assert answer.status_code == 201, answer.text
        delivery: Json = answer.json()
        return delivery

    def delivery_of(self, attestation: Json) -> Json:
        answer = self.client.get(f"/v1/attestations/{attestation['id']}/delivery")
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def consumer(self, name: str, *, username: str | None = None) -> Recipient:
        """Open an account, and sign in to it."""
        made, client = self.clients.consumer(self.address(name))
        self.lab.orgs.set_plan(made.tenant_id, Plan.ENTERPRISE, {})  # so that no limit delays the test
        if username is not None:
            chosen = client.put("/v1/consumer/me/username", json={"username": username})
            assert chosen.status_code == 200, chosen.text
        return Recipient(made.consumer_id, made.tenant_id, made.email, username, client)

    def verify_address(self, recipient: Recipient, address: str) -> int:
        """Give an account a further address; return how many attestations waited for it."""
        now = self.lab.clock.now()
        row = ConsumerAddressRecord(new_id(now), recipient.user_id, recipient.tenant_id, address, now, now)
        with self.lab.storage.write() as tx:
            context = AuditContext(recipient.tenant_id, COMMAND_LINE, "consumer_address.create", now)
            audited_write.insert(tx, account_store.addresses, row, context)
            return self.lab.deliveries.deliver_waiting(tx, user_id=recipient.user_id, address=address, at=now)

    def mailed_to(self) -> list[str]:
        """The recipients of the tenant's mails, in their order."""
        theirs = select(mails.c.recipient).where(mails.c.tenant_id == self.tenant.tenant_id)
        with self.lab.storage.read() as connection:
            return list(connection.execute(theirs.order_by(mails.c.id)).scalars())


@contextmanager
def serve_registry(lab: Installation) -> Iterator[Registry]:
    """Serve an installation with a tenant that has an issuer."""
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    key = create_api_key(lab, tenant, *Scope)
    with serve_in_thread(lab) as url, make_client(url, key=key) as client:
        yield Registry(lab, client, tenant, register_issuer(client), TenantClients(lab, url, tenant), token_hex(4))
