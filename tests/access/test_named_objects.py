"""Bodies and queries that name an object: another tenant's answers exactly like one that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args
from uuid import UUID, uuid4

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.server.app import all_routes
from support.access import AccessScenario, PartyClients, open_access_scenario
from support.agents import open_session, register_agent
from support.attestations import make_mint_body, mint
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.receipt_types import create_type
from support.risk import add_signal
from support.webhook_endpoints import create_endpoint

RULE = {"id": "r", "effect": "ALLOW", "priority": 1, "when": {"attr": "status", "op": "eq", "value": "ACTIVE"}}
POLICY = {
    **{"name": "A policy", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "DENY"},
    "rules": [RULE],
}
RISK_RULE = {"id": "r", "when": {"attr": "signal.score", "op": "gte", "value": 50}}

VIEW = {"name": "Logins", "page": "risk", "query": "source=login"}
# How a request names an object, by the kind of object, route and member. `own` are the objects of the client.
Body = Callable[[str, Mapping[str, Any]], dict[str, Any]]
BODIES: dict[tuple[str, str, str], Body] = {
    ("issuer", "POST /v1/attestations/mint", "issuer_id"): lambda named, own: {**own["mint"], "issuer_id": named},
    ("pack", "POST /v1/attestations/mint", "pack_id"): lambda named, own: {**own["mint"], "pack_id": named},
    ("issuer", "POST /v1/attestations/{id}/supersede", "issuer_id"): lambda named, own: {
        **own["mint"],
        "issuer_id": named,
    },
    ("pack", "POST /v1/attestations/{id}/supersede", "pack_id"): lambda named, own: {**own["mint"], "pack_id": named},
    ("issuer", "POST /v1/governance/issuer-requests", "target_issuer_id"): lambda named, _: {
        **{"type": "SUSPEND_ISSUER", "reason": "a test", "target_issuer_id": named}
    },
    ("policy", "POST /v1/policies/analyze", "policy_id"): lambda named, _: {"policy_id": named},
    ("policy", "POST /v1/policies/analyze", "against"): lambda named, _: {"policy": POLICY, "against": named},
    ("policy", "POST /v1/policies/simulate", "policy_id"): lambda named, _: {"policy_id": named},
    ("issuer", "POST /v1/policies/evaluate", "target_id"): lambda named, _: _ask("ISSUER", named),
    ("profile", "POST /v1/policies/evaluate", "target_id"): lambda named, _: _ask("VERIFICATION_PROFILE", named),
    ("issuer", "POST /v1/policies", "target_id"): lambda named, _: _bind("ISSUER", named),
    ("profile", "POST /v1/policies", "target_id"): lambda named, _: _bind("VERIFICATION_PROFILE", named),
    ("issuer", "POST /v1/policies/analyze", "policy"): lambda named, _: {"policy": _bind("ISSUER", named)},
    ("issuer", "POST /v1/policies/simulate", "policy"): lambda named, _: {"policy": _bind("ISSUER", named)},
    ("profile", "POST /v1/policies/simulate", "policy"): lambda named, _: {
        "policy": _bind("VERIFICATION_PROFILE", named)
    },
    ("issuer", "POST /v1/receipts", "issuer_id"): lambda named, own: {**own["receipt"], "issuer_id": named},
    ("profile", "POST /v1/verify", "verification_profile_id"): lambda named, own: {
        **{"attestation_id": own["attestation"], "verification_profile_id": named}
    },
    ("signal", "POST /v1/risk/simulate", "explain"): lambda named, _: {"rules": [RISK_RULE], "explain": named},
    ("attestation", "POST /v1/consumer/inbox/deliver", "attestation_id"): lambda named, _: {
        **{"attestation_id": named, "recipient_email": "ada@people.example"}
    },
    ("received", "POST /v1/consumer/protections", "attestation_id"): lambda named, _: {
        **{"title": "My degree", "attestation_id": named}
    },
    ("agent_session", "POST /v1/observability/events", "session_id"): lambda named, own: {
        **{"agent_id": own["agent"], "event_type": "tool.call", "session_id": named}
    },
    ("person", "POST /v1/agents", "owner_user_id"): lambda named, _: {"display_name": "A", "owner_user_id": named},
    ("person", "PATCH /v1/agents/{id}", "owner_user_id"): lambda named, _: {"owner_user_id": named},
    ("person", "PATCH /v1/risk/cases/{id}", "assignee_id"): lambda named, _: {"assignee_id": named},
    ("person", "PUT /v1/views/{id}/schedule", "recipients"): lambda named, _: {"hour": 8, "recipients": [named]},
    ("agent", "POST /v1/agent-sessions", "agent_id"): lambda named, _: {"agent_id": named},
    ("endpoint", "POST /v1/webhooks/test-delivery", "endpoint_id"): lambda named, _: {"endpoint_id": named},
}
# A filter selects among the tenant's own rows, so an unknown value selects none.
FILTERS = {
    ("agent", "GET /v1/agent-sessions", "agent_id"),
    ("agent", "GET /v1/agents", "parent_agent_id"),
    ("person", "GET /v1/agents", "owner_user_id"),
    ("person", "GET /v1/auth/sessions", "user_id"),
    ("agent", "GET /v1/orchestrations", "agent_id"),
    ("person", "GET /v1/risk/cases", "assignee_id"),
    ("person", "GET /v1/agents/review", "owner_user_id"),
    ("agent", "GET /v1/witness/requests", "originator_agent_id"),
    ("agent", "GET /v1/compliance/checks", "entity_id"),
    ("issuer", "GET /v1/attestations", "issuer_id"),
    ("pack", "GET /v1/attestations", "pack_id"),
    ("issuer", "GET /v1/governance/issuer-requests", "issuer_id"),
    ("issuer", "GET /v1/receipts", "issuer_id"),
    ("issuer", "GET /v1/receipts/export", "issuer_id"),
    ("issuer", "POST /v1/receipts/search", "issuer_id"),
}
# Ids that name nothing of a tenant: the one that a client chooses, and a public one; and those of which
# each has its result, a NOT_FOUND (tests/risk/test_triage_over_http.py).
OTHERS = {
    ("POST /v1/agents/{id}/sign", "jti"),
    ("POST /v1/attestations/mint", "id"),
    ("POST /v1/attestations/{id}/supersede", "id"),
    ("POST /v1/receipts", "id"),
    ("POST /v1/risk/cases/reopen", "ids"),
    ("POST /v1/receipts/verify", "receipt_id"),
    ("POST /v1/verify", "attestation_id"),
}


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


def _ask(target_type: str, named: str) -> dict[str, Any]:
    return {"action": "MINT", "target_type": target_type, "target_id": named, "context": {}}


def _bind(target_type: str, named: str) -> dict[str, Any]:
    category = "VERIFY" if target_type == "VERIFICATION_PROFILE" else "MINT"
    return {**POLICY, "target_type": target_type, "target_id": named, "category": category}


def _has_id(annotation: object) -> bool:
    return annotation is UUID or any(map(_has_id, get_args(annotation)))


def objects_of(account: PartyClients) -> dict[str, Any]:
    """Returns an object of each kind."""
    client, issuer = account.with_key, register_issuer(account.with_key)
    body, agent = make_mint_body(issuer), register_agent(client)
    return {
        "issuer": issuer["id"],
        "mint": body,
        "receipt": {"receipt_type": create_type(account.with_key)["name"], "payload": {"parcel": "7"}},
        "attestation": mint(client, body).json()["id"],
        "received": mint(client, {**body, "recipient_email": account.consumer_email}).json()["id"],
        "pack": client.post("/v1/attestation-packs", json={"name": "A pack"}).json()["id"],
        "policy": client.post("/v1/policies", json=POLICY).json()["id"],
        "profile": client.post("/v1/verification-profiles", json={"name": "A profile"}).json()["id"],
        "signal": add_signal(client)["id"],
        "case": add_signal(client, score=99)["case_id"],
        "endpoint": create_endpoint(client)["id"],
        "agent": agent["id"],
        "agent_session": open_session(client, agent)["session"]["id"],
        "view": account.signed_in.post("/v1/views", json=VIEW).json()["id"],
        "person": account.signed_in.get("/v1/me").json()["id"],
    }


def send(account: PartyClients, name: str, own: Mapping[str, Any], body: dict[str, Any]) -> httpx.Response:
    method, path = name.split(" ")
    if path.endswith("supersede"):
        path = path.replace("{id}", mint(account.with_key, own["mint"]).json()["id"])
    if path == "/v1/agents/{id}":
        path = path.replace("{id}", own["agent"])
    if path == "/v1/risk/cases/{id}":
        path = path.replace("{id}", own["case"])
    if path == "/v1/views/{id}/schedule":
        path = path.replace("{id}", own["view"])
    client = account.signed_in if "governance" in path or "views" in path else account.with_key
    client = account.consumer if path == "/v1/consumer/protections" else client
    headers = {"X-Request-Id": "the-same", "Idempotency-Key": str(uuid4())}
    return client.request(method, path, json=body, headers=headers)


def filter_rows(client: httpx.Client, name: str, chosen: dict[str, str]) -> Any:
    """Returns the rows that a list, a search or an export shows of those that were chosen."""
    method, path = name.split(" ")
    if path.endswith("/export"):
        return client.get(path, params={"format": "json", **chosen}).json()
    answer = client.get(path, params=chosen) if method == "GET" else client.post(path, json=chosen)
    return answer.json()["items"]


def seen(answer: httpx.Response, named: str) -> tuple[int, str]:
    return answer.status_code, answer.text.replace(named, "the id")


def test_every_member_that_takes_an_id_is_listed_here() -> None:
    members = {
        (f"{route.method} {route.path}", field.alias or name)
        for route in all_routes()
        for model in (route.body, route.query)
        if model is not None
        for name, field in model.model_fields.items()
        if _has_id(field.annotation)
    }

    assert members - OTHERS - {each[1:] for each in (*BODIES, *FILTERS)} == set()


def test_an_unknown_object_and_another_tenants_are_the_same_404(access: AccessScenario) -> None:
    account = access.account
    own, theirs = objects_of(account), objects_of(access.stranger())
    wrong = {}
    for (kind, name, member), make_body in BODIES.items():
        unknown = str(uuid4())
        answers = [seen(send(account, name, own, make_body(each, own)), each) for each in (unknown, theirs[kind])]
        if answers[0] != answers[1] or answers[0][0] != 404:
            wrong[name, member, kind] = answers

    assert wrong == {}


def test_ones_own_object_is_found(access: AccessScenario) -> None:
    account = access.account
    own = objects_of(account)

    refused = {
        (name, member): answer.text
        for (kind, name, member), make_body in BODIES.items()
        if (answer := send(account, name, own, make_body(own[kind], own))).status_code >= 400
    }

    assert refused == {}


def test_a_filter_by_another_tenants_object_finds_nothing(access: AccessScenario) -> None:
    account, theirs = access.account, objects_of(access.stranger())
    objects_of(account)

    found = {
        (name, member): filter_rows(account.signed_in, name, {member: theirs[kind]}) for kind, name, member in FILTERS
    }

    assert {where: items for where, items in found.items() if items} == {}
