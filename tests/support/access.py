"""An installation with every kind of caller: keys of every scope, people of every role, a second tenant."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from uuid import uuid4

import httpx

from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.orgs import rules, store
from attestlab.orgs.rules import Environment, Plan, Role, Scope
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.tables import ApiKeyRecord
from attestlab.web.routing.routes import Route
from support.identity import add_user
from support.in_process_server import make_client

PASSWORD = "a long enough password"


class PartyClients:
    """The credentials of one party: keys, a person who signed in, and a consumer."""

    longest_life = timedelta(days=91)  # of a consumer's key; an access token lives for an hour

    def __init__(self, lab: Installation, url: str, tenant: TenantCreated) -> None:
        self.lab, self.url, self.tenant = lab, url, tenant
        self.with_key = make_client(url, key=tenant.api_key)
        self.signed_in = make_client(url, token=self.token(tenant.owner_email, tenant.owner_password))
        made = lab.orgs.add_consumer(f"{uuid4().hex[:8]}@example.com", PASSWORD, name="A consumer")
        lab.orgs.set_plan(made.tenant_id, Plan.ENTERPRISE, {})  # who may what is asked here, not how often
        self.consumer_email = made.email
        self.consumer = make_client(url, token=self.token(made.email, PASSWORD))
        answer = self.consumer.post("/v1/consumer/api-keys", json={"name": "mine"})
        self.consumer_key = make_client(url, key=answer.json()["secret"])

    def token(self, email: str, password: str) -> str:
        """Sign a person in and return the access token."""
        with make_client(self.url) as client:
            answer = client.post("/v1/auth/login", json={"email": email, "password": password})
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token

    def sign_in_again(self) -> str:
        """Sign the owner in as from another device; return the session."""
        with make_client(self.url, token=self.token(self.tenant.owner_email, self.tenant.owner_password)) as client:
            session: str = client.get("/v1/me").json()["credential"]["id"]
        return session

    def client_for(self, route: Route) -> httpx.Client:
        """The one that may call a route."""
        needs = route.needs
        if needs is not None and needs.realm == "consumer":
            return self.consumer
        if needs is None or not needs.user_only:
            return self.with_key
        if Role.CONTENT_ADMIN in needs.roles:
            return self.editor
        return self.signed_in

    def asked_for(self, issuer_id: str, *, approved: bool = False) -> str:
        """A colleague's request about an issuer, which the owner may approve, or has approved."""
        path, body = "/v1/governance/issuer-requests", {"type": "SUSPEND_ISSUER", "reason": "a test"}
        with make_client(self.url, token=self.colleague) as colleague:
            made = colleague.post(path, json={**body, "target_issuer_id": issuer_id})
        assert made.status_code == 201, made.text
        request_id: str = made.json()["id"]
        if approved:
            assert self.signed_in.post(f"{path}/{request_id}/approve").status_code == 200
        return request_id

    @cached_property
    def editor(self) -> httpx.Client:
        """Someone who writes for the blog."""
        email = f"{uuid4().hex[:8]}@people.example"
        add_user(self.lab, self.tenant, email, PASSWORD, roles="content_admin")
        return make_client(self.url, token=self.token(email, PASSWORD))

    @cached_property
    def colleague(self) -> str:
        """An access token of an admin of the same tenant."""
        email = f"{uuid4().hex[:8]}@people.example"
        add_user(self.lab, self.tenant, email, PASSWORD, roles="admin")
        return self.token(email, PASSWORD)

    def revoked_key(self) -> str:
        body = {"name": "short-lived", "scopes": ["issuers:read"]}
        made = self.signed_in.post("/v1/api-keys", json=body).json()
        assert self.signed_in.post(f"/v1/api-keys/{made['id']}/revoke", json={"reason": "a test"}).status_code == 200
        secret: str = made["secret"]
        return secret

    def signed_out_token(self) -> str:
        token = self.token(self.tenant.owner_email, self.tenant.owner_password)
        with make_client(self.url, token=token) as client:
            assert client.post("/v1/auth/logout").status_code == 204
        return token

    def close(self) -> None:
        editor = [self.editor] if "editor" in vars(self) else []
        for client in (self.with_key, self.signed_in, self.consumer, self.consumer_key, *editor):
            client.close()


class AccessScenario:
    """A served installation with a tenant beside the operator's own."""

    def __init__(self, lab: Installation, url: str) -> None:
        self.lab, self.url = lab, url
        self.tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
        self._clients: list[httpx.Client] = []
        self._accounts: list[PartyClients] = []

    @cached_property
    def account(self) -> PartyClients:
        """The tenant's own."""
        return self._kept(PartyClients(self.lab, self.url, self.tenant))

    def stranger(self) -> PartyClients:
        """Another tenant's."""
        return self._kept(
            PartyClients(self.lab, self.url, self.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE))
        )

    def _kept(self, account: PartyClients) -> PartyClients:
        self._accounts.append(account)
        return account

    def with_headers(self, headers: dict[str, str]) -> httpx.Client:
        client = self.anonymous()
        client.headers.update(headers)
        self._clients.append(client)
        return client

    def close(self) -> None:
        for opened in (*self._clients, *self._accounts):
            opened.close()

    def anonymous(self) -> httpx.Client:
        return make_client(self.url)

    def key_with(self, *scopes: Scope) -> httpx.Client:
        """A fresh key of the tenant's that has just these scopes."""
        secret = rules.compose_api_key(
            "al", Environment.LIVE, "".join(secrets.choice(rules.ALPHABET) for _ in range(26))
        )
        now = self.lab.clock.now()
        row = ApiKeyRecord(
            id=new_id(now),
            tenant_id=self.tenant.tenant_id,
            name="single",
            prefix=rules.key_prefix(secret),
            secret_sha256=hashlib.sha256(secret.encode()).digest(),
            environment="live",
            scopes=" ".join(scopes),
            status="ACTIVE",
            created_at=now,
            has_group_scopes=True,
        )
        actor = self.lab.orgs.service_caller(self.tenant.tenant_id)
        with self.lab.storage.write() as tx:
            audited_write.insert(
                tx, store.api_keys, row, AuditContext(self.tenant.tenant_id, actor, "api_key.create", now)
            )
        return make_client(self.url, key=secret)

    def person(self, role: Role) -> httpx.Client:
        """A person of the tenant's who has just this role and signed in."""
        email = f"{uuid4().hex[:8]}@people.example"
        add_user(self.lab, self.tenant, email, PASSWORD, roles=role.value)
        return make_client(self.url, token=self.account.token(email, PASSWORD))

    def owner_token(self) -> str:
        """An access token of the tenant's owner, who signs in for it."""
        return self.account.token(self.tenant.owner_email, self.tenant.owner_password)


@contextmanager
def open_access_scenario(lab: Installation, url: str) -> Iterator[AccessScenario]:
    """The world around an installation that is served at `url`."""
    access = AccessScenario(lab, url)
    yield access
    access.close()
