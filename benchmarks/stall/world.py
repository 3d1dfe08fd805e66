"""The attacked installation: one object of each kind, many objects in lists, and every kind of caller."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.settings import Settings
from benchmarks import servers
from benchmarks.servers import Server
from benchmarks.stall import policies, signals
from benchmarks.world import CLAIMS

NDJSON = "application/x-ndjson"
PASSWORD = "a long enough password"
MANY_POLICIES = 12
POLICY_BYTES = 100_000
ATTEMPTS = 3


@dataclass(frozen=True)
class AttackedInstallation:
    """A server, the credentials of each kind of caller, and the ids for paths and bodies."""

    server: Server
    credentials: Mapping[str, Mapping[str, str]]
    known: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


@contextmanager
def serve_attacked_installation(data: Path) -> Iterator[AttackedInstallation]:
    """Serve a fresh installation."""
    lab, made = Installation.init(Settings(data=data))
    consumer = lab.orgs.add_consumer("ada@consumers.example", PASSWORD, name="Ada")
    lab.orgs.set_plan(consumer.tenant_id, Plan.ENTERPRISE, {})
    lab.close()
    credentials = made.public()
    with servers.run_attestlab(data) as server:
        people = {
            "user": (credentials["owner_email"], credentials["owner_password"]),
            "consumer": ("ada@consumers.example", PASSWORD),
        }
        bearers = {who: {"Authorization": f"Bearer {_token(server, *account)}"} for who, account in people.items()}
        world = AttackedInstallation(server, {"key": {"X-API-Key": credentials["api_key"]}, **bearers, "stranger": {}})
        with httpx.Client(base_url=server.url, headers=world.credentials["key"], timeout=120) as client:
            _fill(world, client, credentials)
        yield world


def _token(server: Server, email: str, password: str) -> str:
    answer = httpx.post(f"{server.url}/v1/auth/login", json={"email": email, "password": password}, timeout=30)
    token: str = answer.raise_for_status().json()["access_token"]
    return token


def _fill(world: AttackedInstallation, client: httpx.Client, credentials: Mapping[str, str]) -> None:
    issuer = _create(client, "/v1/issuers", {"name": "Registrar", "domain": "registrar.example", "alg": "Ed25519"})
    kid = issuer["keys"][0]["kid"]
    base = {"issuer_id": issuer["id"], "kid": kid, "alg": "Ed25519", "schema": "degree", "claims": CLAIMS}
    for _ in range(60):
        minted = _create(client, "/v1/attestations/mint", base)
    ids = {name: _create(client, path, {"name": "one"})["id"] for name, path in _NAMED.items()}
    for _ in range(MANY_POLICIES):
        policy = _create(client, "/v1/policies", policies.many_leaves(POLICY_BYTES))
    asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {}}
    decision = _create(client, "/v1/policies/evaluate", asked)
    small = _create(client, "/v1/policies", policies.document([policies.rule(0, policies.leaf(0))]))
    report = _create(client, "/v1/policies/simulate", {"policy_id": small["id"], "by": []})
    text = b"\n".join(signals.link_to_hub(number) for number in range(signals.HUB_LINKS))
    client.post("/v1/risk/signals/bulk", content=text, headers={"Content-Type": NDJSON}).raise_for_status()
    risk = {"entity_type": "user", "entity_id": signals.HUB}
    signal = _create(client, "/v1/risk/signals", {**risk, "source": "stall", "signal_type": "behavior", "score": 100})
    world.known.update(risk)
    world.known.update(base, domain="registrar.example", email="ada@example.com", policy_id=policy["id"])
    world.known.update(
        action="MINT", target_type="TENANT_DEFAULT", target_issuer_id=issuer["id"], attestation_id=minted["id"]
    )
    world.ids.update(
        {"/v1/attestations": minted["id"], "/a": minted["id"], "/v1/issuers": issuer["id"], "kid": kid,
         "/.well-known/jwt-vc-issuer/v1/issuers": issuer["id"], "/v1/status-lists": issuer["id"],
         "/v1/schemas": "degree", "/v1/policies": policy["id"], "/v1/orgs": credentials["org_id"],
         "/v1/policies/decisions": decision["decision_id"], "/v1/policies/simulations": report["report_digest"],
         "/v1/risk/signals": signal["id"], "/v1/risk/cases": signal["case_id"], "type": "user",
         "/v1/risk/entities/{type}": signals.HUB, "/v1/log/proofs": "0", "/log/tile": "0/000", **ids}
    )  # fmt: skip


_NAMED = {"/v1/verification-profiles": "/v1/verification-profiles", "/v1/attestation-packs": "/v1/attestation-packs"}


def _create(client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    """Create an object; on a busy machine a large policy may exceed its time limit and need a second attempt."""
    for _ in range(ATTEMPTS):
        answer = client.post(path, json=body, headers={"Idempotency-Key": secrets.token_hex(16)})
        if answer.is_success:
            return answer.json()
    raise RuntimeError(f"POST {path}: {answer.text[:500]}")
