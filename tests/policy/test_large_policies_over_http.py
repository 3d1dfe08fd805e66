"""Policies over 16 KiB are processed in another process, with the same responses as small ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from attestlab.core.errors import Conflict
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.policy import attribute_registry, jobs
from attestlab.policy.evaluation import policy_set
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.formats.toml import format_toml
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import Registry
from attestlab.policy.language.context import ContextNormalizer, NormalizedContext
from attestlab.policy.language.document import Document
from support.attestations import make_mint_body, mint
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.orgs import TenantClients
from support.policies.documents import make_condition, make_document, make_rule

LEAVES = [make_condition("key.age_days", "eq", number) for number in range(1_000, 1_150)]
LARGE = make_document(
    make_rule("many", "DENY", {"any": LEAVES}, 1),
    make_rule("basic", "ALLOW", make_condition("trust_tier", "eq", "BASIC"), 2, reason="x" * 500),
    *(
        make_rule(f"more{number}", "DENY", make_condition("key.age_days", "eq", number), 3, reason="y" * 450)
        for number in range(20)
    ),
    name="Large",
    tests=[{"name": "t", "context": {"trust_tier": "BASIC"}, "allowed": True, "matched_rules": ["basic"]}],
)


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def key(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    with tenant_clients.with_key() as client:
        yield client


def test_large_policy_is_created_updated_and_read_like_a_small_one(
    tenant_clients: TenantClients, key: httpx.Client
) -> None:
    made = key.post("/v1/policies", json=LARGE).json()
    as_toml = key.put(
        f"/v1/policies/{made['id']}", json={"toml": format_toml(Document.read({**LARGE, "mode": "MONITOR"}))}
    )
    read = key.get(f"/v1/policies/{made['id']}", params={"format": "toml"}).text

    assert (made["digest"], made["version"]) == (Document.read(LARGE).digest, 1)
    assert (as_toml.status_code, as_toml.json()["mode"], as_toml.json()["rules"]) == (200, "MONITOR", made["rules"])
    assert read == format_toml(Document.read({**LARGE, "mode": "MONITOR"}))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (
            {"rules": [*LARGE["rules"], make_rule("r", "DENY", make_condition("jurisdiction", "eq", "CHH"))]},
            "/rules/22/when/value",
        ),
        ({"rules": [*LARGE["rules"], make_rule("r", "DENNY", LEAVES[0])]}, "/rules/22/effect"),
        (
            {"tests": [{"name": "t", "context": {"trust_teir": "BASIC"}, "allowed": True}]},
            "/tests/0/context/trust_teir",
        ),
    ],
)
def test_invalid_large_policy_is_rejected_at_its_pointer(key: httpx.Client, change: dict[str, Any], field: str) -> None:
    answer = key.post("/v1/policies", json={**LARGE, **change})

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["details"]["fields"]] == [field]


def test_large_policy_is_analyzed_simulated_activated_and_explained(
    tenant_clients: TenantClients, key: httpx.Client
) -> None:
    admin, owner = tenant_clients.person("admin")[1], tenant_clients.owner()
    asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {"key.age_days": 1_010}}
    key.post("/v1/policies/evaluate", json=asked)
    made = admin.post("/v1/policies", json=LARGE).json()

    proven = key.post("/v1/policies/analyze", json={"policy_id": made["id"], "against": LARGE})
    tried = key.post("/v1/policies/simulate", json={"policy_id": made["id"]})
    stranger = key.post("/v1/policies/simulate", json={"policy": LARGE, "counterfactual": "dec_" + "0" * 26})
    switched = owner.post(
        f"/v1/policies/{made['id']}/activate", json={"simulation_digest": tried.json()["report_digest"]}
    )
    decided = key.post("/v1/policies/evaluate", json=asked).json()
    explained = key.get(f"/v1/policies/decisions/{decided['decision_id']}").json()

    assert (proven.status_code, proven.json()["findings"], proven.json()["equivalent"]) == (200, [], True)
    assert (tried.json()["decided"], tried.json()["transitions"]) == (1, [{"from": "ALLOW", "to": "DENY", "count": 1}])
    assert stranger.status_code == 404
    assert (switched.status_code, switched.json()["status"]) == (200, "ACTIVE")
    assert (decided["allowed"], decided["matched_rule"]) == (False, "many")
    assert (explained["reproduced"], explained["policies"][0]["matched_rules"]) == (True, ["many"])
    admin.close()
    owner.close()


def test_policy_checked_under_outdated_attributes_is_rejected(lab: Installation) -> None:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    caller = Caller(tenant.tenant_id, "USER", "someone", frozenset(), Plan.ENTERPRISE)
    lab.policy_attributes.replace([{"path": "own.a", "type": "boolean"}], caller=caller)
    own, is_operator = lab.policies.attributes_of(caller)
    text = json.dumps(make_document(make_rule("r", "DENY", make_condition("own.a", "eq", True)))).encode()
    checked = jobs.check(text, own, is_operator)
    lab.policy_attributes.replace([{"path": "own.a", "type": "number"}], caller=caller)

    with pytest.raises(Conflict, match="attributes changed"):
        lab.policies.create(checked, caller=caller)
    assert lab.policies.page(caller=caller) == []


def test_attributes_are_checked_without_the_writers_lock(
    tenant_clients: TenantClients, key: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every version that a tenant ever wrote is read again; a hundred of a megabyte take half a minute."""
    caller, threads = tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id), []
    own = [{"path": "own.a", "type": "boolean"}, {"path": "own.b", "type": "boolean"}]
    key.put("/v1/policies/attributes", json={"attributes": own}).raise_for_status()
    for path in ("own.a", "own.b"):
        tenant_clients.lab.policies.create(
            Document.read(make_document(make_rule("r", "DENY", make_condition(path, "eq", True)))), caller=caller
        )

    def type_in_thread(document: Document, registry: Registry) -> Policy:
        threads.append(threading.current_thread().name)
        return bind(document, registry)

    monkeypatch.setattr(attribute_registry, "bind", type_in_thread)
    more = key.put("/v1/policies/attributes", json={"attributes": [*own, {"path": "own.c", "type": "number"}]})
    refused = key.put("/v1/policies/attributes", json={"attributes": own[:1]})

    assert (more.status_code, len(threads)) == (200, 1), "only versions that name a changed attribute are read"
    assert (refused.status_code, refused.json()["details"]["fields"][0]["field"]) == (409, "/rules/0/when/attr")
    assert threads[0].startswith("attestlab-long")


def test_outdated_check_of_attributes_is_rejected(lab: Installation) -> None:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    caller = lab.orgs.service_caller(tenant.tenant_id)
    lab.policy_attributes.replace([{"path": "own.a", "type": "boolean"}], caller=caller)
    checked = lab.policy_attributes.check([], caller=caller)
    lab.policies.create(
        Document.read(make_document(make_rule("r", "DENY", make_condition("own.a", "eq", True)))), caller=caller
    )

    with pytest.raises(Conflict, match="send the attributes again"):
        lab.policy_attributes.replace(checked, caller=caller)
    assert "own.a" in lab.policy_attributes.get(caller=caller)


def test_large_context_is_parsed_in_a_thread(key: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attributes that a megabyte of JSON names take 130 ms to look up."""
    names = {f"jurisdictio{number}": "CH" for number in range(1_000)}
    threads = []

    def read_in_thread(normaliser: ContextNormalizer, context: Mapping[str, Any]) -> NormalizedContext:
        threads.append(threading.current_thread().name)
        return read(normaliser, context)

    read = ContextNormalizer.__call__
    monkeypatch.setattr(ContextNormalizer, "__call__", read_in_thread)
    question = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": names}
    answer = key.post("/v1/policies/evaluate", json=question)

    assert answer.status_code == 200
    assert [name.startswith("attestlab-long") for name in threads] == [True], threads


def test_event_loop_never_compiles_a_large_policy(
    tenant_clients: TenantClients, key: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy of 12,000 leaves takes a third of a second to compile, in which no other request would be answered."""
    issuer, caller = register_issuer(key), tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    threads = []

    def compile_in_thread(policy: Policy) -> Evaluator:
        threads.append(threading.current_thread().name)
        return Evaluator(policy)

    monkeypatch.setattr(policy_set, "Evaluator", compile_in_thread)
    for category in ("MINT", "VERIFY", "BUNDLE_EXPORT"):
        made = tenant_clients.lab.policies.create(Document.read({**LARGE, "category": category}), caller=caller)
        tenant_clients.lab.policies.shadow(made.id, caller=caller)
    question = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {"trust_tier": "BASIC"}}
    evaluated = key.post("/v1/policies/evaluate", json=question)
    minted = mint(key, make_mint_body(issuer)).json()
    verified = key.post("/v1/verify", json={"attestation_id": minted["id"]})
    exported = key.get(f"/v1/attestations/{minted['id']}/proof-bundle")

    assert (evaluated.status_code, verified.json()["verdict"], exported.status_code) == (200, "VALID", 200)
    assert len(threads) == 3
    assert all(name.startswith(("attestlab-long", "asyncio")) for name in threads), threads
