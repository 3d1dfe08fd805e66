"""A tenant with people of every kind, an issuer of theirs, and the operator's reviewers, behind real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import httpx

from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import TenantCreated
from support.attestations import make_mint_body, mint
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.orgs import TenantClients

PATH = "/v1/governance/issuer-requests"


@dataclass
class GovernanceScenario:
    """Who decides: `owner`, `admin`, `analyst` of the tenant, two reviewers of the platform, and a stranger."""

    tenant_clients: TenantClients
    operator: TenantCreated
    issuer: dict[str, Any]
    key: httpx.Client
    _known: dict[str, httpx.Client] = field(default_factory=dict)

    def who(self, name: str) -> httpx.Client:
        """Return a signed-in person; the first use of a name signs them in."""
        if name not in self._known:
            self._known[name] = self._signed_in(name)
        return self._known[name]

    def _signed_in(self, name: str) -> httpx.Client:
        if name == "owner":
            return self.tenant_clients.owner()
        if name == "stranger":
            return self.tenant_clients.owner(self.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE))
        role, tenant = name.split()[-1], self.operator if "reviewer" in name else None
        return self.tenant_clients.person(
            role, tenant=tenant, email=f"{name.replace(' ', '.')}.{token_hex(3)}@people.example"
        )[1]

    @property
    def lab(self) -> Installation:
        return self.tenant_clients.lab

    def ask(self, kind: str, *, who: str = "owner", **more: Any) -> httpx.Response:
        body = {"type": kind, "target_issuer_id": self.issuer["id"], "reason": "seen in the news", **more}
        return self.who(who).post(PATH, json=body)

    def asked(self, kind: str, *, who: str = "owner", **more: Any) -> str:
        answer = self.ask(kind, who=who, **more)
        assert answer.status_code == 201, answer.text
        request_id: str = answer.json()["id"]
        return request_id

    def do(self, verb: str, request_id: str, *, who: str, **body: Any) -> httpx.Response:
        return self.who(who).post(f"{PATH}/{request_id}/{verb}", json=body or None)

    def decide(self, kind: str, *approvers: str, **more: Any) -> dict[str, Any]:
        """From the request to its execution."""
        request_id = self.asked(kind, **more)
        for approver in approvers:
            assert self.do("approve", request_id, who=approver).status_code == 200
        done = self.do("execute", request_id, who="owner")
        assert done.status_code == 200, done.text
        found: dict[str, Any] = done.json()
        return found

    def minted(self, **changes: Any) -> httpx.Response:
        return mint(self.key, make_mint_body(self.issuer, **changes))

    def verdict(self, attestation_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.key.post("/v1/verify", json={"attestation_id": attestation_id}).json()
        return found

    def close(self) -> None:
        for client in (self.key, *self._known.values()):
            client.close()


@contextmanager
def open_governance_scenario(lab: Installation) -> Iterator[GovernanceScenario]:
    """The real application, with a new tenant."""
    operator: Caller = lab.operator  # type: ignore[attr-defined]
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        tenant_clients = TenantClients(lab, url, tenant)
        key = tenant_clients.with_key()
        org_id = lab.orgs.list_page(caller=operator)[0].id
        made = GovernanceScenario(
            tenant_clients, TenantCreated(operator.tenant_id, org_id, "", "", ""), register_issuer(key), key
        )
        yield made
        made.close()
