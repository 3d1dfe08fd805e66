"""The review of a fleet over HTTP: each finding appears when it is due and goes when it is mended."""

from __future__ import annotations

from datetime import timedelta
from secrets import token_hex
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from support.agents import AGENTS, open_session, register_agent
from support.identity import add_user
from support.in_process_server import make_client
from support.orgs import TenantClients

pytestmark = pytest.mark.one_world
REVIEW = f"{AGENTS}/review"


def format_time(clock: FixedClock, **ahead: int) -> str:
    return (clock.now() + timedelta(**ahead)).isoformat().replace("+00:00", "Z")


def make_sound_agent(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> tuple[dict[str, Any], str]:
    """Register an agent without any finding; returns it and the person who answers for it."""
    email = f"{token_hex(4)}@people.example"
    person = str(add_user(clients.lab, clients.tenant, email, "a long enough password", roles="admin").id)
    ends = format_time(clock, days=300)
    return register_agent(client, scopes=["docs:read", "!mail:*"], owner_user_id=person, expires_at=ends), person


def findings_of(client: httpx.Client, agent: dict[str, Any]) -> list[str]:
    items = client.get(REVIEW).json()["items"]
    return next((item["findings"] for item in items if item["agent_id"] == agent["id"]), [])


@pytest.mark.both_engines
def test_each_finding_appears_when_it_is_due_and_goes_when_it_is_mended(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent, person = make_sound_agent(client, clients, clock)
    path = f"{AGENTS}/{agent['id']}"
    assert findings_of(client, agent) == []

    client.patch(path, json={"scopes": ["docs:*"], "expires_at": None, "owner_user_id": None})
    assert findings_of(client, agent) == ["ownerless", "no_expiry", "wildcard"]

    ends = format_time(clock, days=300)
    client.patch(path, json={"scopes": ["docs:read"], "expires_at": ends, "owner_user_id": person})
    clock.advance(timedelta(days=30))
    assert findings_of(client, agent) == ["unused_30d"]

    token = open_session(client, agent)["token"]
    with make_client(clients.url, token=token) as session:
        assert session.get("/v1/me").status_code == 200
    with clients.lab.storage.write() as tx:
        clients.lab.agents.drop_overdue(tx)
    assert findings_of(client, agent) == []

    clock.advance(timedelta(days=60))
    assert findings_of(client, agent) == ["unused_30d", "key_over_90d"]
    client.post(f"{path}/keys/rotate", json={})
    client.patch(path, json={"expires_at": format_time(clock, days=7)})
    assert findings_of(client, agent) == ["unused_30d", "expiring_7d"]

    clock.advance(timedelta(days=7))
    assert findings_of(client, agent) == []  # it expired


@pytest.mark.both_engines
def test_an_agent_is_ownerless_once_its_owner_is_removed(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent, person = make_sound_agent(client, clients, clock)
    assert findings_of(client, agent) == []
    with clients.owner() as boss:
        assert boss.delete(f"/v1/users/{person}").status_code == 204

    assert findings_of(client, agent) == ["ownerless"]


def test_filters_and_pages_are_those_of_other_lists(client: httpx.Client) -> None:
    denied = register_agent(client, scopes=["docs:read", "!mail:*"])
    wild = [register_agent(client, scopes=["docs:*"], agent_type="llm") for _ in range(3)]
    wild.sort(key=lambda agent: str(agent["id"]))  # the clock stands still

    found = client.get(REVIEW, params={"finding": "wildcard", "limit": 2}).json()
    assert [item["agent_id"] for item in found["items"]] == [wild[2]["id"], wild[1]["id"]]
    rest = client.get(REVIEW, params={"finding": "wildcard", "limit": 2, "cursor": found["next_cursor"]}).json()
    assert ([item["agent_id"] for item in rest["items"]], rest["next_cursor"]) == ([wild[0]["id"]], None)
    assert len(client.get(REVIEW, params={"agent_type": "llm"}).json()["items"]) == 3
    assert findings_of(client, denied) == ["ownerless", "no_expiry"]
    for query in ({"finding": "none"}, {"limit": 101}, {"owner_user_id": "x"}, {"cursor": "x"}, {"colour": "red"}):
        assert client.get(REVIEW, params=query).status_code == 400, query


def test_a_review_has_neither_revoked_agents_nor_those_of_others(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    other = clients.lab.orgs.create_tenant("Southfield Robots", plan=Plan.ENTERPRISE)
    with clients.with_key(tenant=other) as foreign:
        assert foreign.get(REVIEW).json()["items"] == []

    client.post(f"{AGENTS}/{agent['id']}/revoke", json={"reason": "a test"})

    assert client.get(REVIEW).json()["items"] == []
