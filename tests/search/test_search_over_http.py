"""The search over real HTTP: what is found by which text, and that no one finds what they may not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from attestlab.orgs.rules import Plan, Scope
from attestlab.search.rules import SCOPES, FoundType
from attestlab.server.app import all_routes
from support.agents import open_session, register_agent
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import TenantClients
from support.policies.documents import make_condition, make_document, make_rule
from support.risk import SIGNAL, add_signal, post, put_on_list

pytestmark = pytest.mark.one_world

RULE = make_rule("basic", "ALLOW", make_condition("trust_tier", "eq", "BASIC"))
DIGEST = "ab12" + "0" * 60
READERS = {  # the route that reads one of each type
    "entity": "/v1/risk/entities/{type}/{id}",
    "case": "/v1/risk/cases/{id}",
    "issuer": "/v1/issuers/{id}",
    "key": "/v1/issuers/{id}/keys",
    "policy": "/v1/policies/{id}",
    "decision": "/v1/policies/decisions/{id}",
    "attestation": "/v1/attestations/{id}",
    "person": "/v1/users/{id}",
}


def ask(client: httpx.Client, q: str, **more: Any) -> list[dict[str, str]]:
    answer = client.get("/v1/search", params={"q": q, **more})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, str]] = answer.json()["items"]
    return items


def titles(client: httpx.Client, q: str, **more: Any) -> list[tuple[str, str]]:
    return [(item["type"], item["title"]) for item in ask(client, q, **more)]


@pytest.fixture
def owner(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    with tenant_clients.owner() as client:
        yield client


@pytest.mark.both_engines
def test_entities_and_cases_are_found_by_the_beginning_of_an_id(key: httpx.Client) -> None:
    for entity_id in ("Phone-7a31f2", "Phone-7a99", "phone-7a31aa", "Phone-7b", "Phone%7a"):
        add_signal(key, entity_type="device", entity_id=entity_id, score=10)
    for _ in range(3):
        add_signal(key, entity_type="device", entity_id="Phone-7a31f2", score=95)
    add_signal(key, entity_type="user", entity_id="Phone-7a-owner", score=10)
    put_on_list(key, "deny", entity_type="device", entity_id="Phone-7a-listed")

    found = ask(key, "Phone-7a")

    assert [item["id"] for item in found if item["type"] == "entity"] == [
        "device:Phone-7a31f2",  # with an open case, so first
        "device:Phone-7a-listed",
        "user:Phone-7a-owner",
        "device:Phone-7a99",
        "device:phone-7a31aa",  # in lower case
    ]
    assert found[0]["subtitle"].startswith("Device, open case, score 95")
    assert found[0]["url"] == "/dash/risk?entity=device%3APhone-7a31f2"
    [case] = [item for item in found if item["type"] == "case"]
    assert case["title"] == "Phone-7a31f2"
    assert case["subtitle"].startswith("Open, device, score 95, opened ")
    assert titles(key, case["id"][:23], types="case") == [("case", "Phone-7a31f2")]
    assert titles(key, "Phone%") == [("entity", "Phone%7a")]
    assert "on the deny list" in ask(key, "Phone-7a-listed")[0]["subtitle"]
    assert ask(key, "Pho") == []


@pytest.mark.both_engines
def test_an_id_with_a_thousand_signals_is_one_entity_and_hides_no_other(key: httpx.Client) -> None:
    lines = "\n".join(
        f'{{"source":"s","signal_type":"t","score":1,"entity_type":"ip","entity_id":"203.0.113.{n % 3}"}}'
        for n in range(300)
    )
    answer = key.post("/v1/risk/signals/bulk", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert answer.json()["accepted"] == 300, answer.text

    assert [title for _, title in titles(key, "203.0")] == ["203.0.113.0", "203.0.113.1", "203.0.113.2"]
    cut, whole = (key.get("/v1/search", params={"q": "203.0", "limit": limit}).json() for limit in (2, 3))
    assert [(len(each["items"]), each["truncated"]) for each in (cut, whole)] == [(2, True), (3, False)]


@pytest.mark.both_engines
def test_issuers_keys_attestations_and_people_are_found_by_name_id_and_hash(
    owner: httpx.Client, tenant_clients: TenantClients
) -> None:
    issuer = register_issuer(owner, name="Universität Zürich", domain="uzh.example.edu")
    minted = mint(owner, make_mint_body(issuer, document_hash=DIGEST)).json()
    kid = issuer["keys"][0]["kid"]
    person = tenant_clients.person("analyst", email="sofia.100%@people.example")[0]

    assert titles(owner, "zürich", types="issuer") == [("issuer", "Universität Zürich")]
    assert titles(owner, "ÄT ZÜ", types="issuer") == [("issuer", "Universität Zürich")]
    assert titles(owner, "uzh.ex") == [("issuer", "Universität Zürich")]
    assert titles(owner, issuer["id"][:18], types="issuer") == [("issuer", "Universität Zürich")]
    assert titles(owner, kid[2:], types="key") == [("key", kid)]
    by_hash = ask(owner, f"sha256:{DIGEST[:9].upper()}")
    assert [item["id"] for item in by_hash] == [minted["attestation_id"]]
    assert by_hash[0]["subtitle"].startswith("VALID, by Universität Zürich, ")
    assert ask(owner, minted["attestation_id"].replace("-", ""))[0]["id"] == minted["attestation_id"]
    assert [item["id"] for item in ask(owner, "100%@", types="person")] == [person]
    assert ask(owner, "100_@", types="person") == []
    assert ask(owner, r"100\%", types="person") == []
    assert [item["id"] for item in ask(owner, person, types="person")] == [person]


@pytest.mark.both_engines
def test_policies_and_decisions_are_found(owner: httpx.Client) -> None:
    made = owner.post("/v1/policies", json=make_document(RULE, name="Night mints need two people")).json()
    body = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {}}
    decision = owner.post("/v1/policies/evaluate", json=body).json()["decision_id"]

    assert [item["id"] for item in ask(owner, "TWO peo", types="policy")] == [made["id"]]
    assert [item["id"] for item in ask(owner, decision)] == [decision]
    assert decision in [item["id"] for item in ask(owner, decision[:12].lower())]
    assert ask(owner, decision)[0]["url"] == f"/dash/policy?decision={decision}"


def test_pages_are_found_by_name_and_purpose(owner: httpx.Client) -> None:
    assert titles(owner, "isk", types="page") == [("page", "Risk")]
    assert titles(owner, "webhooks", types="page") == [("page", "Issuers")]


def test_each_type_needs_the_scope_of_the_route_that_reads_one() -> None:
    routes = {route.path: route for route in all_routes() if route.method == "GET"}

    needed = {name: routes[path].needs for name, path in READERS.items()}

    assert {name: each and each.scope for name, each in needed.items()} == {
        str(kind): str(scope) for kind, scope in SCOPES.items()
    }
    assert set(FoundType) == {*map(FoundType, READERS), FoundType.PAGE}


def test_a_type_without_its_scope_is_left_out(tenant_clients: TenantClients, owner: httpx.Client) -> None:
    issuer = register_issuer(owner, name="Aurora Archive")
    add_signal(owner, entity_id="aurora-1", score=99)
    tenant_clients.person("analyst", email="aurora@people.example")
    owner.post("/v1/policies", json=make_document(RULE, name="Aurora rules"))
    mint(owner, make_mint_body(issuer))

    seen = {}
    for scope in (Scope.RISK_READ, Scope.ISSUERS_READ, Scope.POLICIES_READ, Scope.USERS_READ, Scope.AUDIT_READ):
        with tenant_clients.with_key(scope) as client:
            seen[scope] = {item["type"] for item in ask(client, "aurora")}

    assert seen == {
        Scope.RISK_READ: {"entity", "case"},
        Scope.ISSUERS_READ: {"issuer"},
        Scope.POLICIES_READ: {"policy"},
        Scope.USERS_READ: {"person"},
        Scope.AUDIT_READ: set(),
    }
    assert {item["type"] for item in ask(owner, "aurora")} == {"entity", "case", "issuer", "policy", "person"}


def test_api_keys_are_found_by_those_who_may_list_them(tenant_clients: TenantClients, owner: httpx.Client) -> None:
    made = owner.post("/v1/api-keys", json={"name": "Nightly export", "scopes": ["issuers:read"]}).json()

    assert [item["id"] for item in ask(owner, "nightly")] == [made["id"]]
    assert made["secret"] not in str(ask(owner, "nightly"))
    with tenant_clients.person("analyst")[1] as analyst, tenant_clients.with_key() as with_key:
        assert (ask(analyst, "nightly"), ask(with_key, "nightly")) == ([], [])


def test_another_tenant_a_consumer_and_an_agent_find_only_what_they_may(
    tenant_clients: TenantClients, owner: httpx.Client
) -> None:
    issuer = register_issuer(owner, name="Borealis")
    minted = mint(owner, make_mint_body(issuer, document_hash=DIGEST)).json()
    case = add_signal(owner, entity_id="borealis-1", score=99)["case_id"]
    stranger = tenant_clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)

    with tenant_clients.owner(stranger) as client:
        for q in ("borealis", minted["attestation_id"], DIGEST, case, issuer["id"], tenant_clients.tenant.owner_email):
            assert ask(client, q) == []
    _, consumer = tenant_clients.consumer()
    with consumer:
        assert consumer.get("/v1/search", params={"q": "borealis"}).status_code == 403
    agent = register_agent(owner, scopes=["issuers:read"])
    token = open_session(owner, agent)["token"]
    with make_client(tenant_clients.url, token=token) as client:
        assert titles(client, "borealis") == [("issuer", "Borealis")]


@pytest.mark.parametrize(
    ("parameters", "place", "word"),
    [
        ({}, "/q", "required"),
        ({"q": ""}, "/q", "1"),
        ({"q": "   "}, "/q", "printable"),
        ({"q": "a\nb"}, "/q", "printable"),
        ({"q": "a\x00b"}, "/q", "NUL"),
        ({"q": "x" * 257}, "/q", "256"),
        ({"q": "x" * 10_000}, "/q", "256"),
        ({"q": "risk", "types": "entity,user"}, "/types", "'user'"),
        ({"q": "risk", "types": ""}, "/types", "''"),
        ({"q": "risk", "limit": "0"}, "/limit", "1"),
        ({"q": "risk", "limit": "51"}, "/limit", "50"),
        ({"q": "risk", "page": "2"}, "/page", "Unknown"),
    ],
)
def test_a_bad_question_is_refused_with_its_place(
    key: httpx.Client, parameters: dict[str, str], place: str, word: str
) -> None:
    answer = key.get("/v1/search", params=parameters)

    assert answer.status_code == 400, answer.text
    [fault] = answer.json()["details"]["fields"]
    assert (fault["field"], word in fault["message"]) == (place, True), fault


def test_types_come_in_the_order_in_which_they_were_wanted_and_share_the_limit(owner: httpx.Client) -> None:
    for number in range(9):
        add_signal(owner, entity_id=f"polaris-{number}", score=99)
    register_issuer(owner, name="Polaris")

    found = titles(owner, "polaris", types="issuer,case,entity", limit=5)

    assert [kind for kind, _ in found] == ["issuer", "case", "case", "entity", "entity"]
    assert len(post(owner, "signals", {**SIGNAL, "entity_id": "polaris"}, status=201)["id"]) == 36
    assert titles(owner, "polaris", types="entity")[0] == ("entity", "polaris")


@pytest.mark.both_engines
def test_half_a_device_id_leads_to_the_cases_of_who_used_it(key: httpx.Client) -> None:
    used = {"details": {"device_id": "tablet-4711-c0ffee"}}
    case = add_signal(key, entity_id="sofia-9", score=99, **used)["case_id"]
    add_signal(key, entity_id="sofia-8", score=10, **used)

    entity, found = ask(key, "tablet-4711")

    assert (entity["type"], entity["id"]) == ("entity", "device:tablet-4711-c0ffee")
    assert (entity["subtitle"], entity["url"]) == (
        "Device, linked to others",
        "/dash/risk?graph=device%3Atablet-4711-c0ffee",
    )
    assert (found["type"], found["id"], found["title"]) == ("case", case, "sofia-9")
    assert found["subtitle"].endswith(", linked to tablet-4711-c0ffee")
    assert found["url"] == "/dash/risk?entity=user%3Asofia-9"
