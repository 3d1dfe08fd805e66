"""Tenant isolation: every operation on an existing object, by every caller who must not learn that it exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import cycle
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.issuers.rules import TrustTier
from attestlab.server.app import all_routes
from attestlab.web.routing.routes import Route
from support.access import AccessScenario, PartyClients, open_access_scenario
from support.agents import make_delegation, open_session, register_agent
from support.attestations import make_mint_body, mint
from support.compliance import check_agent
from support.consumers import ConsumerPortal
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.protections import protect
from support.receipt_types import create_type, mint_receipt
from support.risk import add_signal, put_on_list
from support.runs import complete_run, digest, start_run
from support.votes import request_votes
from support.webhook_endpoints import create_delivery, create_endpoint

# What is the platform's belongs to no tenant; tests/access/test_scopes_per_route.py shows who reaches it.
OF_TENANTS = [route for route in all_routes() if route.needs is not None and not route.path.startswith("/v1/platform/")]
LISTS = [route for route in OF_TENANTS if route.method == "GET" and "{" not in route.path]
# A data set has one name for all tenants; tests/lake/test_lake_over_http.py shows whose rows it has.
NAMED_ALIKE = {"/v1/lake/datasets/{name}"}
WITH_ID = [route for route in OF_TENANTS if "{" in route.path and route.path not in NAMED_ALIKE]
QUESTION = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {}}
POLICY: dict[str, Any] = {
    **{"name": "A policy", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "DENY"},
    "rules": [{"id": "r", "effect": "ALLOW", "priority": 1, "when": {"attr": "status", "op": "eq", "value": "ACTIVE"}}],
}
PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg"
# What an owner would send; a stranger's is refused before anything of it is looked at.
BODIES: dict[str, dict[str, Any]] = {
    "PATCH /v1/agents/{id}": {"display_name": "Taken over"},
    **{f"POST /v1/agents/{{id}}/{verb}": {"reason": "not theirs"} for verb in ("suspend", "resume", "revoke", "kill")},
    "POST /v1/agents/{id}/keys/{kid}/compromise": {"reason": "not theirs"},
    "POST /v1/agents/{id}/delegations": {"scopes": ["docs:read"], "child": {"display_name": "Theirs"}},
    "POST /v1/delegations/{id}/revoke": {"reason": "not theirs"},
    "POST /v1/orchestrations/{id}/steps": {
        "step_id": "read",
        "inputs_hash": digest("start"),
        "outputs_hash": digest("read"),
        "status": "completed",
    },
    "POST /v1/orchestrations/{id}/complete": {"status": "canceled"},
    "POST /v1/witness/requests/{id}/attest": {"agent_id": "the last id of the thing", "verdict": "confirm"},
    "PUT /v1/agents/{id}/card/signature": {},
    "POST /v1/agents/{id}/sign": {"payload": {"owner": "me"}},
    "PATCH /v1/consumer/inbox/{id}": {"read_state": "READ"},
    "PATCH /v1/consumer/protections/{id}": {"title": "Taken over"},
    "POST /v1/consumer/protections/{id}/revoke": {"reason": "not theirs"},
    "PATCH /v1/issuers/{id}": {"display_name": "Taken over"},
    "PUT /v1/issuers/{id}/logo": {"content_b64url": PIXEL_PNG},
    "POST /v1/issuers/{id}/keys": {"kid": "theirs", "alg": "Ed25519"},
    "POST /v1/governance/issuer-requests/{id}/reject": {"reason": "not theirs to say"},
    "POST /v1/issuers/keys/{kid}/rotate": {"new_kid": "theirs-2", "alg": "Ed25519"},
    "POST /v1/issuers/keys/{kid}/revoke": {"reason": "not theirs"},
    "POST /v1/issuers/keys/{kid}/compromise": {"reason": "not theirs"},
    "POST /v1/attestations/{id}/revoke": {"reason": "not theirs"},
    "POST /v1/attestations/{id}/supersede": {
        **{"kid": "main", "alg": "Ed25519", "schema": "degree"},
        "claims": {"student_name": "Eve"},
    },
    "POST /v1/api-keys/{id}/compromise": {"reason": "seen elsewhere"},
    "PATCH /v1/consumer/emails/{email}": {"primary": True},
    "PUT /v1/policies/{id}": POLICY,
    "PATCH /v1/orgs/{id}": {"name": "Taken over"},
    "PATCH /v1/users/{id}": {"role": "analyst"},
    "POST /v1/risk/cases/{id}/resolve": {"outcome": "fraud"},
    "PATCH /v1/risk/cases/{id}": {"assignee_id": None},
    "POST /v1/risk/cases/{id}/comments": {"text": "not theirs"},
    "PATCH /v1/views/{id}": {"name": "Taken over"},
    "PUT /v1/views/{id}/schedule": {"hour": 8, "recipients": []},
    "PATCH /v1/webhooks/endpoints/{id}": {"name": "Taken over"},
    "POST /v1/webhooks/endpoints/{id}/recover": {"since": "2026-11-01T00:00:00Z"},
}
VIEW = {"name": "Logins", "page": "risk", "query": "source=login"}
ANNOTATION = {"at": "2026-11-02T09:00:00Z", "text": "Campaign of a partner"}
_IN_PATH = re.compile(r"\{\w+\}")
REQUEST_ID = {"X-Request-Id": "the-same"}


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def make_open_vote(client: httpx.Client) -> str:
    """Request votes; returns the request, and an agent that may vote."""
    return f"{request_votes(client)['request_id']} {register_agent(client)['id']}"


def things_of(account: PartyClients) -> dict[str, str]:
    """Returns an object of the account for each path parameter, by the path before it.

    A space is between the objects of several parameters. Some routes have an object of their own, because their work
    ends the object's life.
    """
    issuer, suspended = register_issuer(account.with_key, kid="main"), register_issuer(account.with_key)["id"]
    caller = account.lab.orgs.service_caller(account.tenant.tenant_id)
    # Its domain is proven, so that no request asks for a proof here.
    account.lab.issuers.set_governance(UUID(issuer["id"]), trust_tier=TrustTier.BASIC, caller=caller)
    kids = {verb: str(uuid4()) for verb in ("rotate", "revoke", "compromise")}  # as long as the name of none
    for kid in kids.values():
        register_issuer(account.with_key, kid=kid)
    pack = account.with_key.post("/v1/attestation-packs", json={"name": "A pack"}).json()["id"]
    with_recipient = make_mint_body(issuer, recipient_email="ada@people.example")
    member = {"email": f"{uuid4().hex[:8]}@example.com", "role": "member"}
    key = {"name": "for a test", "scopes": ["issuers:read"]}
    agents = {verb: register_agent(account.with_key) for verb in ("suspend", "resume", "revoke", "kill", "compromise")}
    account.with_key.post(f"/v1/agents/{agents['resume']['id']}/suspend", json={"reason": "a test"})
    reported = agents.pop("compromise")
    return {
        "/v1/agents": register_agent(account.with_key)["id"],
        "/v1/agent-sessions": open_session(account.with_key, register_agent(account.with_key))["session"]["id"],
        **{f"POST /v1/agents/{{id}}/{verb}": agent["id"] for verb, agent in agents.items()},
        "POST /v1/agents/{id}/keys/{kid}/compromise": f"{reported['id']} {reported['key_id']}",
        "POST /v1/agents/{id}/delegations": register_agent(account.with_key, scopes=["docs:read"])["id"],
        "/v1/delegations": make_delegation(account.with_key)["delegation_id"],
        "/v1/witness/requests": request_votes(account.with_key)["request_id"],
        "POST /v1/witness/requests/{id}/attest": make_open_vote(account.with_key),
        "/v1/compliance/checks": check_agent(account.with_key, register_agent(account.with_key))["check_id"],
        "GET /v1/orchestrations/{id}/proof-bundle": complete_run(account.with_key)["orchestration_id"],
        "/v1/orchestrations": start_run(account.with_key)["orchestration_id"],
        "POST /v1/orchestrations/{id}/complete": start_run(account.with_key)["orchestration_id"],
        "POST /v1/delegations/{id}/revoke": make_delegation(account.with_key)["delegation_id"],
        "/v1/issuers": issuer["id"],
        "/v1/governance/issuer-requests": account.asked_for(issuer["id"]),
        "POST /v1/governance/issuer-requests/{id}/execute": account.asked_for(suspended, approved=True),
        "POST /v1/governance/issuer-requests/{id}/reject": account.asked_for(issuer["id"]),
        "/v1/attestations": mint(account.with_key, make_mint_body(issuer)).json()["id"],
        **{f"POST /v1/issuers/keys/{{kid}}/{verb}": kid for verb, kid in kids.items()},
        "/v1/issuers/keys": "main",
        "POST /v1/attestations/{id}/supersede": mint(account.with_key, make_mint_body(issuer)).json()["id"],
        **{
            f"GET /v1/attestations/{{id}}/{form}": mint(account.with_key, make_mint_body(issuer)).json()["id"]
            for form in ("sd-jwt", "open-badge")
        },
        "GET /v1/attestations/{id}/delivery": mint(account.with_key, with_recipient).json()["id"],
        "/v1/attestation-packs": pack,
        "/v1/consumer/inbox": receive_item(account, make_mint_body(issuer)),
        "/v1/consumer/protections": protect(account.consumer)["id"],
        "/v1/policies": account.with_key.post("/v1/policies", json=POLICY).json()["id"],
        "POST /v1/policies/{id}/archive": account.with_key.post("/v1/policies", json=POLICY).json()["id"],
        "/v1/policies/decisions": account.with_key.post("/v1/policies/evaluate", json=QUESTION).json()["decision_id"],
        "/v1/policies/simulations": account.with_key.post("/v1/policies/simulate", json={"policy": POLICY}).json()[
            "report_digest"
        ],
        "/v1/verification-profiles": profile_of(account),
        "/v1/receipt-types": create_type(account.with_key, str(uuid4()))["name"],
        "/v1/receipts": mint_receipt(account.with_key, issuer)["receipt_id"],
        "POST /v1/receipts/{id}/revoke": mint_receipt(account.with_key, issuer)["receipt_id"],
        "POST /v1/receipts/{id}/redact": mint_receipt(account.with_key, issuer)["receipt_id"],
        "/v1/risk/signals": add_signal(account.with_key)["id"],
        "/v1/risk/cases": add_signal(account.with_key, score=99)["case_id"],
        "/v1/risk/entities": add_signal(account.with_key, entity_type="user", entity_id="user")["entity_id"],
        "/v1/risk/lists": put_on_list(account.with_key, "deny")["id"],
        "/v1/views": account.signed_in.post("/v1/views", json=VIEW).json()["id"],
        **{f"{verb} /v1/views/{{id}}/schedule": scheduled_view(account, verb) for verb in ("PUT", "DELETE")},
        "/v1/annotations": account.with_key.post("/v1/annotations", json=ANNOTATION).json()["id"],
        "/v1/webhooks/endpoints": create_endpoint(account.with_key)["id"],
        "/v1/webhooks/deliveries": create_delivery(account.with_key),
        "/v1/billing/invoices": invoice_of(account),
        "/v1/orgs": account.with_key.get("/v1/orgs").json()[0]["id"],
        "/v1/users": account.with_key.post("/v1/users", json=member).json()["id"],
        "/v1/auth/sessions": account.sign_in_again(),
        "/v1/api-keys": account.signed_in.post("/v1/api-keys", json=key).json()["id"],
        "PATCH /v1/consumer/emails/{email}": add_address(account, verified=True),
        "/v1/consumer/emails": add_address(account),
        "/v1/consumer/api-keys": account.consumer.post("/v1/consumer/api-keys", json={"name": "mine"}).json()["id"],
    }


def scheduled_view(account: PartyClients, name: str) -> str:
    """Save a view; return its id, and that of the person who may get a report of it."""
    view = account.signed_in.post("/v1/views", json={**VIEW, "name": name}).json()
    return f"{view['id']} {view['owner_id']}"


def receive_item(account: PartyClients, body: dict[str, Any]) -> str:
    """Deliver an attestation to the account's consumer; return the item of their inbox."""
    mint(account.with_key, {**body, "recipient_email": account.consumer_email})
    item: str = account.consumer.get("/v1/consumer/inbox").json()["items"][0]["id"]
    return item


def invoice_of(account: PartyClients) -> str:
    account.with_key.post("/v1/billing/addons/attach", json={"addon_key": "extra_issuers"})
    made: str = account.with_key.get("/v1/billing/invoices").json()["items"][0]["id"]
    return made


def add_address(account: PartyClients, *, verified: bool = False) -> str:
    """Add an address to the consumer's account; return it."""
    email = f"{uuid4().hex[:21]}@people.example"  # as long as the id of none
    account.consumer.post("/v1/consumer/emails", json={"email": email}).raise_for_status()
    if verified:
        portal = ConsumerPortal(account.lab, account.url, account.consumer)
        portal.verify(portal.token_of(email)).raise_for_status()
    return email


def profile_of(account: PartyClients) -> str:
    made: str = account.with_key.post("/v1/verification-profiles", json={"name": "A profile"}).json()["id"]
    return made


def place_of(route: Route) -> str:
    return route.path.partition("/{")[0]


def thing_for(route: Route, things: dict[str, str]) -> str:
    return things.get(name_of(route)) or things[place_of(route)]


def ask(client: httpx.Client, route: Route, thing: str) -> httpx.Response:
    parts = cycle(thing.split())
    path = _IN_PATH.sub(lambda _: next(parts), route.path.replace("{version}", "1"))
    body = None if route.method in ("GET", "DELETE") else BODIES.get(name_of(route), {})
    if body and "recipients" in body:
        body = {**body, "recipients": [thing.split()[-1]]}
    if body and "agent_id" in body:
        body = {**body, "agent_id": thing.split()[-1]}
    return client.request(route.method, path, json=body, headers={**REQUEST_ID, "Idempotency-Key": str(uuid4())})


def seen(answer: httpx.Response, thing: str) -> tuple[int, dict[str, str], bytes]:
    """Returns all that goes over the wire, without the id itself, the second, and whether the body had arrived."""
    of_the_moment = ("date", "connection", "x-ratelimit-remaining", "x-ratelimit-reset")
    headers = {name: value for name, value in answer.headers.items() if name not in of_the_moment}
    content = answer.content
    for part in thing.split():
        content = content.replace(part.encode(), b"the id")
    return answer.status_code, headers, content


def distinguishable(client: httpx.Client, things: dict[str, str], *, status: int | None = None) -> list[str]:
    """Lists the operations that disclose an object to this client, or that answer with another status than expected."""
    found = []
    right = {status} if status else {403, 404}
    for route in WITH_ID:
        thing, nothing = thing_for(route, things), str(uuid4())
        there, nowhere = ask(client, route, thing), ask(client, route, nothing)
        allowed = right | ({404} if route.needs.or_else else set())  # strangers may ask, too
        if seen(there, thing) != seen(nowhere, nothing) or there.status_code not in allowed:
            found.append(f"{name_of(route)} {there.status_code} {nowhere.status_code}")
    return found


def test_an_owner_can_read_their_own_objects(access: AccessScenario) -> None:
    """So every route is covered here, and an error below is caused by the other tenant."""
    things = things_of(access.account)
    assert {place_of(route) for route in WITH_ID} == {name for name in things if name.startswith("/")}

    last = [route for route in WITH_ID if route.method == "DELETE"]
    refused = [
        (name_of(route), answer.status_code)
        for route in [*(route for route in WITH_ID if route not in last), *last]
        if (answer := ask(access.account.client_for(route), route, thing_for(route, things))).status_code >= 400
    ]

    # The owner may sign cards and activate policies; the errors here state that the service holds the agent's key, so
    # that it signs the card itself, and that their own key wrote this policy.
    assert refused == [("PUT /v1/agents/{id}/card/signature", 400), ("POST /v1/policies/{id}/activate", 403)]


@pytest.mark.parametrize("kind", ["with_key", "signed_in", "consumer", "consumer_key"])
def test_another_tenants_object_answers_exactly_like_a_missing_one(access: AccessScenario, kind: str) -> None:
    things = things_of(access.account)
    stranger = access.stranger()

    assert distinguishable(getattr(stranger, kind), things) == []


def shown_in_lists(account: PartyClients, ids: set[str]) -> set[str]:
    """Lists the list routes, and other routes without a path parameter, that show this account one of these ids."""
    return {
        route.path for route in LISTS if any(each in account.client_for(route).get(route.path).text for each in ids)
    }


def test_no_list_contains_another_tenants_objects(access: AccessScenario) -> None:
    ids = {thing for thing in things_of(access.account).values() if len(thing) == len(str(uuid4()))}

    ours, theirs = shown_in_lists(access.account, ids), shown_in_lists(access.stranger(), ids)

    lists = {
        "agents",
        "agent-sessions",
        "attestations",
        "attestation-packs",
        "issuers",
        "policies",
        "users",
        "api-keys",
        "auth/sessions",
        "orgs",
        "audit/events",
    }
    lists |= {
        "receipt-types",
        "receipts",
        "risk/signals",
        "risk/cases",
        "risk/lists",
        "webhooks/endpoints",
        "webhooks/events",
    }
    assert {f"/v1/{name}" for name in lists} <= ours
    assert theirs == set()


def test_idempotency_keys_are_separate_per_tenant(access: AccessScenario) -> None:
    body = {"name": "Northfield University", "domain": "northfield.example.edu", "alg": "Ed25519"}
    key = {"Idempotency-Key": "the same"}

    ours = access.account.with_key.post("/v1/issuers", json=body, headers=key)
    theirs = access.stranger().with_key.post("/v1/issuers", json=body, headers=key)

    assert (ours.status_code, theirs.status_code) == (201, 201)
    assert "Idempotent-Replayed" not in theirs.headers
    assert ours.json()["id"] != theirs.json()["id"]


def test_every_invalid_credential_gets_the_same_401(access: AccessScenario, clock: FixedClock) -> None:
    things, stranger = things_of(access.account), access.stranger()
    revoked = stranger.revoked_key()
    signed_out = stranger.signed_out_token()
    clients = {
        "none": access.with_headers({}),
        "unknown key": access.with_headers({"X-API-Key": "al_live_" + "0" * 32}),
        "junk token": access.with_headers({"Authorization": "Bearer no.such.token"}),
        "revoked key": access.with_headers({"X-API-Key": revoked}),
        "token of an ended session": access.with_headers({"Authorization": f"Bearer {signed_out}"}),
    }

    for kind, client in clients.items():
        clock.advance(timedelta(minutes=1))  # so that the limit of the address is full again
        assert distinguishable(client, things, status=401) == [], kind


def test_expired_credentials_are_rejected(access: AccessScenario, clock: FixedClock) -> None:
    things, stranger = things_of(access.account), access.stranger()
    clock.advance(stranger.longest_life)

    for client in (stranger.signed_in, stranger.consumer, stranger.consumer_key):
        clock.advance(timedelta(minutes=1))  # so that the limit of the address is full again
        assert distinguishable(client, things, status=401) == []
