"""Machine agents over HTTP: registered, found, changed; what is wrong is named and changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ulid import ULID

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan, Scope
from support.agents import AGENTS, KeyHolder, place_below, register_agent
from support.in_process_server import make_client, serve_in_thread
from support.log.entries import read_log_entries
from support.orgs import TenantClients, create_api_key, read_audit_trail
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world

# Broken scopes, each with what is wrong about it.
BROKEN_SCOPES = (
    *("", " ", "docs", "docs:", ":read", ":", "docs:read:now", "*:*", "*:read", "*", "!*:*", "!", "!!docs:read"),
    *("Docs:read", "docs:Read", "docs:read ", " docs:read", "docs :read", "docs: read", "docs\n:read", "docs:re\tad"),
    *("-docs:read", ".docs:read", "_docs:read", "docs:-read", "docs:.read", "docs:_read", "docs:**", "docs:r*"),
    *("docs:*read", "do*cs:read", "docs/a:read", "docs:read/a", "döcs:read", "docs:réad", "docs:read,mail:send"),
    *("docs:" + "a" * 65, "a" * 65 + ":read", "docs\uff1aread", "docs:\u0430", "! docs:read"),
)


@pytest.mark.both_engines
def test_an_agent_is_registered_found_listed_and_changed(client: httpx.Client, clock: FixedClock) -> None:
    first = register_agent(client, scopes=["docs:*", "!docs:delete"], metadata={"team": "billing"})
    assert first["agent_id"] == f"maip:{first['tenant_id'][:8]}:{ULID.from_int(int(first['id'].replace('-', ''), 16))}"
    assert (first["agent_type"], first["status"], first["trust_score"]) == ("worker", "active", 0.5)
    assert (first["trust_level"], first["delegation_depth"], first["session_count"]) == ("authenticated", 0, 0)
    assert (first["scopes"], first["effective_scopes"]) == (["docs:*", "!docs:delete"],) * 2
    assert [(key["kid"], key["algorithm"], key["public_key"], key["status"]) for key in first["keys"]] == [
        (first["key_id"], "Ed25519", first["public_key"], "active")
    ]
    clock.advance(timedelta(seconds=1))
    second = register_agent(client, agent_type="llm", display_name=" Planner\u200dA ", description="Plans.\n")
    assert (second["display_name"], second["description"]) == ("Planner\u200dA", "Plans.\n")

    assert client.get(f"{AGENTS}/{first['id']}").json() == first
    assert client.get(f"{AGENTS}/{first['agent_id']}").json() == first
    assert client.get(AGENTS).json() == {"items": [second, first], "next_cursor": None}

    clock.advance(timedelta(seconds=1))
    patch = {"display_name": "Reader", "scopes": ["docs:read"], "metadata": {}, "discoverable": True}
    changed = client.patch(f"{AGENTS}/{first['id']}", json=patch).json()
    assert changed == {**first, **patch, "effective_scopes": ["docs:read"], "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > second["created_at"]
    assert client.patch(f"{AGENTS}/{first['id']}", json=patch).json() == changed


def test_a_registration_writes_an_event_an_entry_of_the_log_and_audit_lines(
    client: httpx.Client, clients: TenantClients
) -> None:
    agent = register_agent(client, agent_type="bot")

    assert read_events_of_type(clients.lab, "agent.registered")[-1] == {
        "agent_id": agent["id"],
        "agent_type": "bot",
        "created_at": agent["created_at"],
    }
    (entry,) = read_log_entries(clients.lab, agent["keys"][0]["log_index"])
    members = {name: entry.members[name] for name in ("type", "agent_id", "kid", "alg", "status", "seq")}
    assert members == {
        **{"type": "agent.key", "agent_id": agent["id"], "kid": agent["key_id"]},
        **{"alg": "Ed25519", "status": "active", "seq": 0},
    }
    assert read_audit_trail(clients.lab, agent["id"]) == [("agent.register", "API_KEY")]
    assert read_audit_trail(clients.lab, agent["key_id"]) == [("agent_key.create", "API_KEY")]


def test_a_person_who_registers_an_agent_answers_for_it(clients: TenantClients) -> None:
    ann, as_ann = clients.person("admin")
    ben, _ = clients.person("owner")
    with as_ann:
        hers = register_agent(as_ann)
        his = register_agent(as_ann, owner_user_id=ben)
        nobodys = as_ann.patch(f"{AGENTS}/{his['id']}", json={"owner_user_id": None}).json()

    assert (hers["created_by_user_id"], hers["owner_user_id"]) == (ann, ann)
    assert (his["created_by_user_id"], his["owner_user_id"]) == (ann, ben)
    assert nobodys["owner_user_id"] is None


def test_only_an_active_person_answers_for_an_agent(client: httpx.Client, clients: TenantClients) -> None:
    with clients.owner() as owner:
        invited = owner.post("/v1/users", json={"email": "new@people.example", "role": "analyst"}).json()["id"]

    refused = client.post(AGENTS, json={"display_name": "A", "owner_user_id": invited})
    unknown = client.post(AGENTS, json={"display_name": "A", "owner_user_id": str(uuid4())})

    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "owner_not_active")
    assert unknown.status_code == 404
    assert client.get(AGENTS).json()["items"] == []


def test_lists_are_filtered_and_paged(
    client: httpx.Client, clients: TenantClients, keeper: Caller, clock: FixedClock
) -> None:
    ann, as_ann = clients.person("admin")
    with as_ann:
        hers = register_agent(as_ann, display_name="Ann's 100% Bot", agent_type="bot")
    clock.advance(timedelta(seconds=1))
    parent = register_agent(client, display_name="Parent", scopes=["docs:read"])
    clock.advance(timedelta(seconds=1))
    child = register_agent(client, display_name="Child", description="reads İstanbul", scopes=["docs:read"])
    place_below(clients.lab, parent["id"], child["id"], scopes="docs:read", caller=keeper)
    client.post(f"{AGENTS}/{parent['id']}/suspend", json={"reason": "a test"})

    def found(**query: Any) -> list[str]:
        return [item["display_name"] for item in client.get(AGENTS, params=query).json()["items"]]

    assert found(agent_type="bot") == found(owner_user_id=ann) == found(q="100% b") == ["Ann's 100% Bot"]
    assert found(parent_agent_id=parent["id"]) == found(q="READS") == ["Child"]
    assert found(status="suspended") == ["Parent"]
    assert found(status="active", agent_type="worker") == ["Child"]
    assert found(q="%") == ["Ann's 100% Bot"]
    assert found(status="revoked") == []

    first = client.get(AGENTS, params={"limit": 2}).json()
    rest = client.get(AGENTS, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    other = client.get(AGENTS, params={"limit": 2, "cursor": first["next_cursor"], "status": "active"})
    assert [item["id"] for item in (*first["items"], *rest["items"])] == [child["id"], parent["id"], hers["id"]]
    assert other.status_code == 400


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"display_name": ""}, "/display_name"),
        ({"display_name": " "}, "/display_name"),
        ({"display_name": "a\nb"}, "/display_name"),
        ({"display_name": "a\u202eb"}, "/display_name"),
        ({"display_name": "\u200dab"}, "/display_name"),
        ({"display_name": "a" * 257}, "/display_name"),
        ({"display_name": None}, "/display_name"),
        ({"description": "a" * 2049}, "/description"),
        ({"agent_type": "human"}, "/agent_type"),
        ({"agent_type": None}, "/agent_type"),
        ({"metadata": {"a": "b" * 16 * 1024}}, "/metadata"),
        ({"metadata": []}, "/metadata"),
        ({"expires_at": "2026-11-21T12:00:00Z"}, "/expires_at"),
        ({"expires_at": "tomorrow"}, "/expires_at"),
        ({"owner_user_id": "me"}, "/owner_user_id"),
        ({"card": {"url": "javascript:alert(1)"}}, "/card/url"),
        ({"card": {}}, "/card/url"),
        (
            {"card": {"url": "https://a.example", "skills": [{"id": "a" * 200, "name": "b" * 200}]}},
            "/card/skills/0/description",
        ),
        ({"scopes": ["docs:read"] * 2}, "/scopes/1"),
        ({"scopes": [f"docs:a{number}" for number in range(65)]}, "/scopes"),
        ({"scopes": "docs:read"}, "/scopes"),
        ({"scopes": [None]}, "/scopes/0"),
        ({"public_key": "AAAA", "proof": "AA"}, "/public_key"),
        ({"public_key": KeyHolder().public_key}, "/proof"),
        ({"proof": "AAAA"}, "/proof"),
        ({"status": "active"}, "/status"),
        ({"trust_score": 1}, "/trust_score"),
    ],
)
def test_what_is_wrong_is_named_and_registers_nothing(client: httpx.Client, fields: dict[str, Any], place: str) -> None:
    answer = client.post(AGENTS, json={"display_name": "A", **fields})

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, place), answer.text
    assert client.get(AGENTS).json()["items"] == []


def test_broken_scopes_are_named_by_their_place(client: httpx.Client) -> None:
    agent = register_agent(client, scopes=["docs:read"])
    assert len(BROKEN_SCOPES) >= 40

    for broken in BROKEN_SCOPES:
        created = client.post(AGENTS, json={"display_name": "A", "scopes": ["docs:read", broken]})
        changed = client.patch(f"{AGENTS}/{agent['id']}", json={"scopes": ["docs:read", broken]})
        for answer in (created, changed):
            faults = answer.json()["details"]["fields"]
            assert (answer.status_code, faults[0]["field"]) == (400, "/scopes/1"), (broken, answer.text)
    assert client.get(AGENTS).json()["items"] == [agent]


@pytest.mark.parametrize(
    "patch", [{"display_name": "\x07"}, {"expires_at": "2020-01-01T00:00:00Z"}, {"metadata": {"a": "b" * 16384}}]
)
def test_a_wrong_change_changes_nothing(client: httpx.Client, patch: dict[str, Any]) -> None:
    agent = register_agent(client)

    answer = client.patch(f"{AGENTS}/{agent['id']}", json={"description": "changed", **patch})

    assert answer.status_code == 400
    assert client.get(f"{AGENTS}/{agent['id']}").json() == agent


@pytest.mark.parametrize(
    "name", ["unknown", "maip:00000000:01M8G2BACSFB3T0X1Y770W8KHG", "maip:", "maip:x:y", "a" * 200]
)
def test_an_unknown_agent_is_a_404(client: httpx.Client, name: str) -> None:
    assert client.get(f"{AGENTS}/{name}").status_code == 404
    assert client.post(f"{AGENTS}/{name}/suspend", json={"reason": "a test"}).status_code == 404


def test_another_tenants_agent_is_unknown_by_either_id(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    stranger = clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)

    with clients.with_key(tenant=stranger) as theirs:
        answers = [theirs.get(f"{AGENTS}/{agent[name]}") for name in ("id", "agent_id")]

    assert [answer.status_code for answer in answers] == [404, 404]


@pytest.mark.both_engines
def test_the_plans_last_place_is_won_once_by_fifty_at_once(lab: Installation) -> None:
    tenant = lab.orgs.create_tenant("Small", plan=Plan.FREE)
    lab.orgs.set_plan(tenant.tenant_id, Plan.FREE, {"requests_per_minute": None})
    key = create_api_key(lab, tenant)
    with serve_in_thread(lab) as url, make_client(url, key=key) as client:
        for _ in range(2):
            register_agent(client)
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: client.post(AGENTS, json={"display_name": "A"}), range(50)))
        listed = client.get(AGENTS).json()["items"]
        client.post(f"{AGENTS}/{listed[0]['id']}/revoke", json={"reason": "a test"})
        after_a_revocation = client.post(AGENTS, json={"display_name": "A"})

    refused = [answer.json() for answer in answers if answer.status_code != 201]
    assert len(listed) == 3
    assert len(refused) == 49
    assert {(each["http_status"], each["code"]) for each in refused} == {(402, "QUOTA_EXCEEDED")}
    details = {name: refused[0]["details"][name] for name in ("resource", "limit", "used", "upgrade_url")}
    assert details == {"resource": "agents", "limit": 3, "used": 3, "upgrade_url": "/v1/billing/plans"}
    assert after_a_revocation.status_code == 201


def test_an_agent_gets_no_scope_of_the_service_that_its_creator_lacks(clients: TenantClients) -> None:
    with clients.with_key(Scope.AGENTS_WRITE, Scope.AGENTS_READ, Scope.RISK_READ) as narrow:
        allowed = register_agent(narrow, scopes=["docs:*", "risk:read", "users:write", "agents:*", "!risk:write"])
        for scope in ("risk:*", "attestations:mint"):
            for answer in (
                narrow.post(AGENTS, json={"display_name": "A", "scopes": [scope]}),
                narrow.patch(f"{AGENTS}/{allowed['id']}", json={"scopes": [scope]}),
            ):
                assert answer.status_code == 403
                assert answer.json()["details"]["required_scope"] in ("risk:write", "attestations:mint")


def test_scopes_wider_than_the_parents_are_a_conflict(
    client: httpx.Client, clients: TenantClients, keeper: Caller
) -> None:
    parent = register_agent(client, scopes=["docs:*", "!docs:delete"])
    child = register_agent(client, scopes=["docs:*"])
    place_below(clients.lab, parent["id"], child["id"], scopes="docs:* !docs:delete", caller=keeper)

    refused = client.patch(f"{AGENTS}/{child['id']}", json={"scopes": ["docs:read", "mail:send"]})
    narrowed = client.patch(f"{AGENTS}/{child['id']}", json={"scopes": ["docs:read"]})
    client.patch(f"{AGENTS}/{parent['id']}", json={"scopes": ["docs:write"]})

    assert (refused.status_code, refused.json()["details"]) == (
        409,
        {"reason": "scope_violation", "scope": "mail:send", "request_id": refused.json()["details"]["request_id"]},
    )
    assert narrowed.json()["effective_scopes"] == ["docs:read", "!docs:delete"]
    assert client.get(f"{AGENTS}/{child['id']}").json()["effective_scopes"] == ["!docs:delete"]
