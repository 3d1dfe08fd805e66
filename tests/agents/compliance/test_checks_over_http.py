"""Compliance checks over HTTP: each control finds its fact in the records, for agents, issuers and the tenant."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import update

from attestlab.agents.compliance.rules import DISCLAIMER, Control
from attestlab.agents.sessions.store import sessions
from attestlab.audit.store import events, is_chain_whole
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time, parse_time
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, open_session, register_agent
from support.compliance import CHECKS, check_agent, list_failed, make_check
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import TenantClients, read_audit_trail
from support.votes import request_votes, vote

pytestmark = pytest.mark.one_world
LATER = timedelta(days=365)


@pytest.fixture
def owned(clients: TenantClients, clock: FixedClock) -> dict[str, Any]:
    """An agent for which the tenant's owner answers, and that ends within a year."""
    with clients.owner() as owner:
        return register_agent(owner, scopes=["docs:read"], expires_at=format_time(clock.now() + LATER))


def find_evidence(check: dict[str, Any], control: Control) -> str:
    evidence: str = next(each["evidence"] for each in check["findings"] if each["control"] == control)
    return evidence


@pytest.mark.both_engines
def test_sound_agent_passes_and_the_check_is_stored_with_its_findings(
    client: httpx.Client, clients: TenantClients, owned: dict[str, Any], clock: FixedClock
) -> None:
    answer = client.post(CHECKS, json={"entity_type": "agent", "entity_id": owned["agent_id"]})
    check = answer.json()
    assert answer.headers["Location"] == f"{CHECKS}/{check['check_id']}"
    assert (check["status"], check["score"], check["regulation"]) == ("passed", 100, "baseline")
    assert (check["entity_id"], check["left_out"]) == (owned["id"], ["witness_share"])
    assert [finding["control"] for finding in check["findings"]] == [*list(Control)[:-1]]
    assert (check["self_assessment"], check["disclaimer"]) == (True, DISCLAIMER)
    assert parse_time(check["valid_until"]) - parse_time(check["created_at"]) == timedelta(hours=24)
    assert client.get(f"{CHECKS}/{check['check_id']}").json() == check
    assert client.get(CHECKS, params={"entity_id": owned["id"], "status": "passed"}).json()["items"] == [check]
    assert client.get(CHECKS, params={"regulation": "GDPR"}).json()["items"] == []
    assert read_audit_trail(clients.lab, check["check_id"]) == [("compliance_check.create", "API_KEY")]
    assert list(fsck(clients.lab)) == []


def test_new_agent_of_a_key_has_no_owner_no_expiry_and_a_wildcard(client: httpx.Client) -> None:
    check = check_agent(client, register_agent(client, scopes=["docs:*", "mail:*", "!web:*"]))
    assert list_failed(check) == [Control.OWNER_ACTIVE, Control.EXPIRY_SET, Control.NO_WILDCARD]
    assert (check["status"], check["score"]) == ("failed", 66)
    assert find_evidence(check, Control.NO_WILDCARD) == "2 allowed scopes have a wildcard."


def test_key_and_idleness_age_with_the_clock(client: httpx.Client, owned: dict[str, Any], clock: FixedClock) -> None:
    clock.advance(timedelta(days=90))
    check = check_agent(client, owned)
    assert list_failed(check) == [Control.KEY_AGE, Control.LAST_ACTIVITY]
    assert check["status"] == "warning"
    assert find_evidence(check, Control.LAST_ACTIVITY) == "The last activity was 90 days ago."
    assert client.post(f"{AGENTS}/{owned['id']}/keys/rotate").status_code == 200
    assert list_failed(check_agent(client, owned)) == [Control.LAST_ACTIVITY]


def test_used_session_is_activity(
    client: httpx.Client, clients: TenantClients, owned: dict[str, Any], clock: FixedClock
) -> None:
    clock.advance(timedelta(days=40))
    opened = open_session(client, owned, ttl_minutes=90)
    with make_client(clients.url, token=opened["token"]) as agent:
        assert agent.get("/v1/me").status_code == 200
    with clients.lab.storage.write() as tx:
        clients.lab.agents.drop_overdue(tx)  # which writes when sessions were last used
    check = check_agent(client, owned)
    assert list_failed(check) == []
    assert find_evidence(check, Control.SESSION_TTL) == "The longest active session lasts 1.5 hours."


@pytest.mark.tampered
def test_session_of_over_24_hours_fails(client: httpx.Client, clients: TenantClients, owned: dict[str, Any]) -> None:
    """No route opens one, so the row is changed."""
    opened = open_session(client, owned)["session"]
    with clients.lab.storage.write() as tx:
        end = parse_time(opened["created_at"]) + timedelta(hours=25)
        tx.exec(update(sessions).where(sessions.c.agent_id == UUID(owned["id"])).values(expires_at=end))
    assert list_failed(check_agent(client, owned)) == [Control.SESSION_TTL]


def test_depth_over_four_fails(client: httpx.Client) -> None:
    agent = register_agent(client, scopes=["docs:read"])
    for _ in range(5):
        body = {"scopes": ["docs:read"], "child": {"display_name": "Next"}}
        agent = client.post(f"{AGENTS}/{agent['id']}/delegations", json=body).json()["child"]
    assert Control.DELEGATION_DEPTH in list_failed(check_agent(client, agent))


def test_open_case_fails_until_it_is_resolved(
    client: httpx.Client, clients: TenantClients, owned: dict[str, Any]
) -> None:
    open_case(client, "user", owned["agent_id"])
    check = check_agent(client, owned)
    assert (list_failed(check), check["status"]) == ([Control.NO_OPEN_CASE], "failed")
    (case,) = client.get("/v1/risk/cases").json()["items"]
    with clients.owner() as owner:
        assert owner.post(f"/v1/risk/cases/{case['id']}/resolve", json={"outcome": "legitimate"}).status_code == 200
    assert list_failed(check_agent(client, owned)) == []


def test_denied_claims_lower_the_share(client: httpx.Client, owned: dict[str, Any]) -> None:
    for verdict in ("deny", "deny", "confirm"):
        made = request_votes(client, owned, required_witnesses=1)
        assert vote(client, made, register_agent(client), verdict=verdict).status_code == 201
    check = check_agent(client, owned)
    assert (list_failed(check), check["left_out"]) == ([Control.WITNESS_SHARE], [])
    assert find_evidence(check, Control.WITNESS_SHARE) == "Other agents confirmed 33% of the decided claims."


@pytest.mark.both_engines
def test_issuer_is_asked_what_it_has_facts_for(client: httpx.Client, clock: FixedClock) -> None:
    issuer = register_issuer(client)
    check = make_check(client, "issuer", issuer["id"])
    asked = [finding["control"] for finding in check["findings"]]
    assert asked == [Control.KEY_AGE, Control.NO_OPEN_CASE, Control.AUDIT_CHAIN, Control.LAST_ACTIVITY]
    assert len(check["left_out"]) == 6
    open_case(client, "issuer", issuer["id"])
    clock.advance(timedelta(days=91))
    failed = list_failed(make_check(client, "issuer", issuer["id"]))
    assert failed == [Control.KEY_AGE, Control.NO_OPEN_CASE, Control.LAST_ACTIVITY]


@pytest.mark.both_engines
def test_tenant_is_as_good_as_its_worst_agent(
    client: httpx.Client, clients: TenantClients, owned: dict[str, Any]
) -> None:
    tenant_id = str(clients.tenant.tenant_id)
    assert list_failed(make_check(client, "tenant", tenant_id)) == []
    worse = register_agent(client, scopes=["docs:*"])
    made = request_votes(client, worse, required_witnesses=1)
    assert vote(client, made, owned, verdict="deny").status_code == 201
    expected = [Control.OWNER_ACTIVE, Control.EXPIRY_SET, Control.NO_WILDCARD, Control.WITNESS_SHARE]
    assert list_failed(make_check(client, "tenant", tenant_id)) == expected
    client.post(f"{AGENTS}/{worse['id']}/revoke", json={"reason": "worse"})
    assert list_failed(make_check(client, "tenant", tenant_id)) == []


def test_tenant_without_agents_answers_for_itself(client: httpx.Client, clients: TenantClients) -> None:
    check = make_check(client, "tenant", str(clients.tenant.tenant_id))
    asked = [finding["control"] for finding in check["findings"]]
    assert asked == [Control.OWNER_ACTIVE, Control.NO_OPEN_CASE, Control.AUDIT_CHAIN]


@pytest.mark.tampered
def test_broken_audit_chain_fails_the_check(
    client: httpx.Client, clients: TenantClients, owned: dict[str, Any]
) -> None:
    mine = events.c.tenant_id == clients.tenant.tenant_id
    with clients.lab.storage.write() as tx:
        tx.exec(update(events).where(mine, events.c.seq == 1).values(record=b"{}"))
    assert list_failed(check_agent(client, owned)) == [Control.AUDIT_CHAIN]


@pytest.mark.parametrize("at_most", [1, 2, 3, 100])
def test_chain_is_whole_over_any_number_of_lines(
    client: httpx.Client, clients: TenantClients, owned: dict[str, Any], at_most: int
) -> None:
    with clients.lab.storage.read() as connection:
        assert is_chain_whole(connection, clients.tenant.tenant_id, at_most=at_most)


@pytest.mark.parametrize("kind", ["agent", "issuer", "tenant"])
def test_what_another_tenant_has_is_not_found(clients: TenantClients, client: httpx.Client, kind: str) -> None:
    other = clients.lab.orgs.create_tenant("Southfield Robots", plan=Plan.ENTERPRISE)
    with clients.with_key(tenant=other) as theirs:
        ids = {
            "agent": register_agent(theirs)["id"],
            "issuer": register_issuer(theirs)["id"],
            "tenant": str(other.tenant_id),
        }
        check = make_check(theirs, kind, ids[kind])
    assert client.post(CHECKS, json={"entity_type": kind, "entity_id": ids[kind]}).status_code == 404
    assert client.post(CHECKS, json={"entity_type": kind, "entity_id": str(uuid4())}).status_code == 404
    assert client.get(f"{CHECKS}/{check['check_id']}").status_code == 404
    assert client.get(CHECKS).json()["items"] == []


@pytest.mark.parametrize("role", ["owner", "admin", "analyst", "member"])
def test_people_who_read_the_audit_trail_check(clients: TenantClients, role: str) -> None:
    _, person = clients.person(role)
    with person:
        answer = person.post(CHECKS, json={"entity_type": "tenant", "entity_id": str(clients.tenant.tenant_id)})
    assert answer.status_code == (403 if role == "member" else 201)


def test_key_needs_the_scope_of_the_audit_trail(clients: TenantClients) -> None:
    with clients.with_key(Scope.AGENTS_READ, Scope.AGENTS_WRITE) as client:
        answer = client.post(CHECKS, json={"entity_type": "tenant", "entity_id": str(clients.tenant.tenant_id)})
    assert (answer.status_code, answer.json()["details"]["required_scope"]) == (403, "audit:read")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"entity_type": "person"}, "/entity_type"),
        ({"entity_type": "issuer", "entity_id": "7"}, "/entity_id"),
        ({"entity_type": "tenant", "entity_id": "maip:7"}, "/entity_id"),
        ({"entity_id": ""}, "/entity_id"),
        ({"entity_id": None}, "/entity_id"),
        ({"regulation": "PCI"}, "/regulation"),
        ({"score": 100}, "/score"),
    ],
)
def test_bad_field_is_named_and_nothing_is_stored(client: httpx.Client, change: dict[str, Any], place: str) -> None:
    answer = client.post(CHECKS, json={"entity_type": "agent", "entity_id": str(uuid4()), **change})
    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, place)
    assert client.get(CHECKS).json()["items"] == []


def open_case(client: httpx.Client, entity_type: str, entity_id: str) -> None:
    """Escalate a signal about an entity."""
    body = {
        "source": "manual",
        "signal_type": "report",
        "score": 95,
        "entity_type": entity_type,
        "entity_id": entity_id,
        "details": {},
    }
    answer = client.post("/v1/risk/signals", json=body)
    assert answer.status_code == 201, answer.text
