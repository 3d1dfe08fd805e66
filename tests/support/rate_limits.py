"""A served installation whose clock stands still, behind a proxy it trusts; clients with addresses of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import httpx

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs import store
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated
from support.in_process_server import make_client


@dataclass
class ProxiedServer:
    """An installation behind a proxy at 127.0.0.1, which it trusts."""

    lab: Installation
    url: str
    clock: FixedClock
    _opened: list[httpx.Client] = field(default_factory=list)

    def tenant(self, plan: Plan = Plan.FREE, **limits: int | None) -> TenantCreated:
        """A tenant with this plan and individual limits."""
        made = self.lab.orgs.create_tenant("Example Registry", plan=plan)
        if limits:
            self.lab.orgs.set_plan(made.tenant_id, plan, limits)
        return made

    def operator_id(self) -> UUID:
        """The operator's own tenant."""
        with self.lab.storage.write() as tx:
            return store.get_operator_id(tx)

    def client(self, tenant: TenantCreated | None = None, *, address: str = "192.0.2.1") -> httpx.Client:
        """A caller with the tenant's key, or without any, who comes from this address."""
        client = make_client(self.url, key=tenant and tenant.api_key)
        client.headers["X-Forwarded-For"] = address
        self._opened.append(client)
        return client

    def owner(self, tenant: TenantCreated) -> httpx.Client:
        """The tenant's owner, signed in."""
        sign_in = {"email": tenant.owner_email, "password": tenant.owner_password}
        answer = self.client(address="192.0.2.250").post("/v1/auth/login", json=sign_in)
        self._opened.append(client := make_client(self.url, token=answer.json()["access_token"]))
        return client

    def close(self) -> None:
        for client in self._opened:
            client.close()
