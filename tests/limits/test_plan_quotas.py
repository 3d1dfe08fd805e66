"""Plan quotas: attestations, verifications, issuers and keys are limited exactly, also for concurrent requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.records.audit import AuditEvent
from attestlab.orgs import usage
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated
from support.attestations import make_mint_body, mint
from support.in_process_server import wait_until
from support.issuers import register_issuer
from support.policies.documents import make_condition, make_document, make_rule
from support.rate_limits import ProxiedServer

NOT_ASKED = 6_000  # requests a minute: it is not they that are counted here
TWELVE_HOURS = 12 * 3600


def used(proxied_server: ProxiedServer, tenant: TenantCreated, metric: str) -> int:
    with proxied_server.lab.storage.read() as connection:
        return usage.get_used(connection, tenant.tenant_id, metric, proxied_server.clock.now().date())


def batch(client: httpx.Client, body: dict[str, Any], size: int) -> list[int]:
    items = client.post("/v1/attestations/batch", json={"items": [body] * size}).json()["items"]
    return [item["http_status"] for item in items]


def verify(client: httpx.Client, attestation_id: str) -> httpx.Response:
    return client.post("/v1/verify", json={"attestation_id": attestation_id})


def test_a_free_tenant_mints_a_hundred_times_a_day(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(requests_per_minute=NOT_ASKED)
    client = proxied_server.client(tenant)
    body = make_mint_body(register_issuer(client))
    assert batch(client, body, 99) == [201] * 99
    proxied_server.clock.advance(timedelta(minutes=1))

    assert batch(client, body, 3) == [201, 429, 429]
    refused = mint(client, body)

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, str(TWELVE_HOURS - 60))
    said = {"limit": 100, "window_seconds": 86_400, "retry_after_seconds": TWELVE_HOURS - 60}
    assert refused.json()["details"].items() >= said.items()
    assert refused.headers["X-RateLimit-Policy"] == "100;w=86400"
    assert used(proxied_server, tenant, "attestations") == 100
    proxied_server.clock.advance(timedelta(hours=12))
    assert mint(client, body).status_code == 201


def test_a_keyed_mint_is_replayed_when_the_daily_quota_is_reached(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant(requests_per_minute=NOT_ASKED, attestations_per_day=1))
    body = make_mint_body(register_issuer(client))
    first = mint(client, body, key="once")

    again = mint(client, body, key="once")

    assert (again.status_code, again.content) == (201, first.content)
    refused = mint(client, body, key="twice")
    assert (refused.status_code, refused.json()["details"]["upgrade_url"]) == (429, "/v1/billing/plans")


def test_64_concurrent_mints_stop_exactly_at_the_quota(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(requests_per_minute=NOT_ASKED, attestations_per_day=20)
    client = proxied_server.client(tenant)
    body = make_mint_body(register_issuer(client))
    clients = [proxied_server.client(tenant) for _ in range(64)]

    with ThreadPoolExecutor(64) as pool:
        statuses = [answer.status_code for answer in pool.map(lambda one: mint(one, body), clients)]

    assert sorted(statuses) == [201] * 20 + [429] * 44
    assert used(proxied_server, tenant, "attestations") == 20


def test_verifications_are_metered_to_the_issuers_tenant(proxied_server: ProxiedServer) -> None:
    """The verifier's identity does not matter; an unknown id is not charged to any tenant."""
    tenant = proxied_server.tenant(verifications_per_day=3)
    client, stranger = proxied_server.client(tenant), proxied_server.client()
    attestation_id = mint(client, make_mint_body(register_issuer(client))).json()["id"]
    assert [verify(stranger, attestation_id).status_code for _ in range(3)] == [200] * 3

    refused = verify(stranger, attestation_id)
    unknown = verify(stranger, "01997f3a-0000-7000-8000-000000000000")

    error = refused.json()
    assert (refused.status_code, error["code"]) == (402, "BILLING_LIMIT")
    said = {"resource": "verifications", "limit": 3, "resets_at": "2026-11-22T00:00:00Z"}
    assert error["details"].items() >= said.items()
    assert (unknown.status_code, unknown.json()["verdict"]) == (200, "NOT_FOUND")
    wait_until(lambda: used(proxied_server, tenant, "verifications"), 3)
    proxied_server.clock.advance(timedelta(hours=12))
    assert verify(stranger, attestation_id).json()["verdict"] == "VALID"


def test_64_concurrent_verifications_stop_exactly_at_the_quota(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(verifications_per_day=20)
    client = proxied_server.client(tenant)
    attestation_id = mint(client, make_mint_body(register_issuer(client))).json()["id"]
    clients = [proxied_server.client() for _ in range(64)]

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda one: verify(one, attestation_id).status_code, clients))

    assert sorted(answers) == [200] * 20 + [402] * 44
    wait_until(lambda: used(proxied_server, tenant, "verifications"), 20)


def test_a_free_tenant_has_two_issuers_with_two_keys_each(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant())
    issuers = [register_issuer(client) for _ in range(2)]
    third = client.post("/v1/issuers", json={"name": "Third", "domain": "third.example"})
    path = f"/v1/issuers/{issuers[0]['id']}/keys"
    keys = [client.post(path, json={"kid": f"k{number}", "alg": "Ed25519"}) for number in range(2)]

    assert (third.status_code, third.json()["code"]) == (402, "QUOTA_EXCEEDED")
    assert third.json()["details"].items() >= {"resource": "issuers", "limit": 2, "used": 2}.items()
    assert [answer.status_code for answer in keys] == [201, 402]
    assert keys[1].json()["details"].items() >= {"resource": "keys_per_issuer", "limit": 2, "used": 2}.items()
    assert len(client.get("/v1/issuers").json()["items"]) == 2


POLICY = make_document(make_rule("trusted", "ALLOW", make_condition("trust_tier", "eq", "BASIC")))


@pytest.mark.parametrize(
    ("resource", "path", "body"),
    [
        ("policies", "/v1/policies", POLICY),
        ("verification_profiles", "/v1/verification-profiles", {"name": "Customs"}),
        ("attestation_packs", "/v1/attestation-packs", {"name": "Closing"}),
    ],
)
def test_the_plan_limits_what_a_tenant_may_create(
    proxied_server: ProxiedServer, resource: str, path: str, body: dict[str, Any]
) -> None:
    client = proxied_server.client(proxied_server.tenant(**{resource: 2}))

    answers = [client.post(path, json=body) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [201, 201, 402]
    assert answers[2].json()["code"] == "QUOTA_EXCEEDED"
    assert answers[2].json()["details"].items() >= {"resource": resource, "limit": 2, "used": 2}.items()
    assert len(client.get(path).json()["items"]) == 2


def test_the_plan_limits_the_versions_of_a_policy(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant(versions_per_policy=2))
    made = client.post("/v1/policies", json=POLICY).json()

    answers = [client.put(f"/v1/policies/{made['id']}", json=POLICY) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 402]
    assert answers[1].json()["details"].items() >= {"resource": "versions_per_policy", "limit": 2, "used": 2}.items()
    assert len(client.get(f"/v1/policies/{made['id']}/versions").json()["items"]) == 2


def test_the_plan_limits_the_policy_attributes_of_a_tenant(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant(policy_attributes=2))
    own = [{"path": f"custom.number_{index}", "type": "integer"} for index in range(3)]
    kept = client.put("/v1/policies/attributes", json={"attributes": own[:2]})
    before = client.get("/v1/policies/attributes").json()

    refused = client.put("/v1/policies/attributes", json={"attributes": own})

    assert (kept.status_code, refused.status_code) == (200, 402)
    assert refused.json()["details"].items() >= {"resource": "policy_attributes", "limit": 2, "used": 2}.items()
    assert client.get("/v1/policies/attributes").json() == before


def test_16_concurrent_requests_create_no_third_issuer(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(requests_per_minute=NOT_ASKED)
    clients = [proxied_server.client(tenant) for _ in range(10)]

    with ThreadPoolExecutor(16) as pool:
        body = {"name": "Registry", "domain": "r.example"}
        statuses = [one.status_code for one in pool.map(lambda client: client.post("/v1/issuers", json=body), clients)]

    assert sorted(statuses) == [201] * 2 + [402] * 8


def test_a_reached_quota_is_in_the_audit_trail(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(issuers=0)

    proxied_server.client(tenant).post("/v1/issuers", json={"name": "Registry", "domain": "r.example"})

    with proxied_server.lab.storage.read() as connection:
        denied = select(AuditEvent.resource_id, AuditEvent.record).where(
            AuditEvent.tenant_id == tenant.tenant_id, AuditEvent.action == "request.denied"
        )
        (line,) = connection.execute(denied).all()
    assert line.resource_id == "POST /v1/issuers"
    assert b"QUOTA_EXCEEDED" in line.record


def test_a_plan_applies_from_the_next_request_on(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(issuers=0)
    client = proxied_server.client(tenant)
    body = {"name": "Registry", "domain": "r.example"}
    assert client.post("/v1/issuers", json=body).status_code == 402

    proxied_server.lab.orgs.set_plan(tenant.tenant_id, Plan.STARTER, {})

    answer = client.post("/v1/issuers", json=body)
    assert (answer.status_code, answer.headers["X-RateLimit-Limit"]) == (201, "10")
    assert client.get("/v1/issuers").headers["X-RateLimit-Limit"] == "300"
