"""Limits of the analysis: the largest policy can be activated, and concurrent proofs are limited."""

from __future__ import annotations

from typing import Any

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.policy.language.document import MAX_RULES, Document
from attestlab.server.app import all_routes
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients
from support.policies.documents import make_condition, make_document, make_rule

OWN = [{"path": "claims.amount", "type": "number"}, {"path": "note", "type": "text"}]


def entangled(number: int) -> dict[str, Any]:
    """A rule that any other may match together with."""
    alone = {"all": [make_condition("note", "eq", f"x{number}"), make_condition("claims.amount", "gt", number)]}
    condition = {"any": [alone, make_condition("key.age_days", "gt", number)]}
    return make_rule(f"r{number}", "ALLOW" if number % 2 else "DENY", condition, number % 7)


def test_thousand_rules_are_examined_in_time(lab: Installation) -> None:
    """Its whole analysis takes over the twenty seconds there are; what an activation asks, about one."""
    caller = lab.orgs.service_caller(lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE).tenant_id)
    lab.policy_attributes.replace(OWN, caller=caller)
    dead = make_rule("dead", "ALLOW", make_condition("status", "exists", False))
    raw = make_document(*map(entangled, range(MAX_RULES - 1)), dead)
    made = lab.policies.create(Document.read(raw), caller=caller)

    assert lab.policies.examine(made.id, caller=caller).dead_rules == ("dead",)


def test_analysis_queries_what_ifs_and_verification_ignore_idempotency_keys() -> None:
    """They are reads, so a repeat needs no key; every other remembers its answer, but for forms of a browser."""
    routes = [route for route in all_routes() if route.path.startswith("/v1/") and route.method == "POST"]
    ignoring = {route.path for route in routes if route.idempotency == "none"}
    reading = {"/v1/lake/query", "/v1/open-badges/verify", "/v1/policies/analyze", "/v1/risk/simulate", "/v1/verify"}
    reading |= {"/v1/billing/subscription/preview", "/v1/receipts/search", "/v1/receipts/verify"}
    reading |= {"/v1/agent-sessions/introspect", "/v1/delegations/verify"}
    assert ignoring == reading


def test_third_concurrent_proof_is_unavailable(lab: Installation) -> None:
    """Otherwise they would hold the threads that sign-ins need."""
    raw = make_document(make_rule("r", "DENY", make_condition("trust_tier", "eq", "BASIC")))
    with serve_in_thread(lab) as url:
        tenant_clients = TenantClients(lab, url, lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE))
        with tenant_clients.owner() as owner, lab.policies.proofs.acquire():
            policy = owner.post("/v1/policies", json=raw).json()
            second = owner.post("/v1/policies/analyze", json={"policy": raw})
            with lab.policies.proofs.acquire():
                third = owner.post("/v1/policies/analyze", json={"policy": raw})
                activated = owner.post(f"/v1/policies/{policy['id']}/activate", json={})

    assert second.status_code == 200
    assert [(late.status_code, late.headers["Retry-After"]) for late in (third, activated)] == [(503, "5")] * 2
