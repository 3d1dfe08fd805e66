"""Agents whose owner was removed: noticed at once, suspended when the tenant's grace is over, ended by a new owner."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.agents.oversight import owners
from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Scope
from support.agents import AGENTS, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world
SETTINGS = f"{AGENTS}/settings"


def lose_owner(client: httpx.Client, clients: TenantClients) -> dict[str, Any]:
    """Register an agent, and remove the person who answers for it."""
    person, signed_in = clients.person("admin")
    signed_in.close()
    agent = register_agent(client, owner_user_id=person)
    with clients.owner() as boss:
        assert boss.delete(f"/v1/users/{person}").status_code == 204
    return {**agent, "owner_user_id": person}


def sweep(clients: TenantClients) -> None:
    with clients.lab.storage.write() as tx:
        assert not clients.lab.agents.expire(tx, at_most=100)


def status_of(client: httpx.Client, agent: dict[str, Any]) -> str:
    status: str = client.get(f"{AGENTS}/{agent['id']}").json()["status"]
    return status


def signals_of(client: httpx.Client, agent: dict[str, Any]) -> list[str]:
    answer = client.get("/v1/risk/signals", params={"entity_type": "user", "entity_id": agent["agent_id"]})
    return [item["signal_type"] for item in answer.json()["items"]]


@pytest.mark.both_engines
def test_an_agent_whose_owner_left_is_noticed_at_once_and_suspended_after_seven_days(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = lose_owner(client, clients)
    token = open_session(client, agent)["token"]

    found = client.get(f"{AGENTS}/review", params={"finding": "ownerless"}).json()["items"]
    assert [item["agent_id"] for item in found] == [agent["id"]]
    assert signals_of(client, agent) == ["ownerless"]
    events = read_events_of_type(clients.lab, "agent.owner_left")
    assert [(each["agent_id"], each["owner_user_id"]) for each in events] == [(agent["id"], agent["owner_user_id"])]

    clock.advance(timedelta(days=7, seconds=-1))
    sweep(clients)
    assert status_of(client, agent) == "active"
    clock.advance(timedelta(seconds=1))
    sweep(clients)
    sweep(clients)

    assert status_of(client, agent) == "suspended"
    with make_client(clients.url, token=token) as session:
        assert session.get("/v1/me").status_code == 401
    assert [each["agent_id"] for each in read_events_of_type(clients.lab, "agent.suspended")] == [agent["id"]]
    trail = [action for action, _ in read_audit_trail(clients.lab, agent["id"])]
    assert trail == ["agent.register", "agent.lose_owner", "agent.suspend"]
    assert signals_of(client, agent) == ["ownerless"]


def test_a_new_owner_ends_it(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    agent, suspended = lose_owner(client, clients), lose_owner(client, clients)
    person, signed_in = clients.person("admin")
    signed_in.close()
    path, why = f"{AGENTS}/{suspended['id']}", {"reason": "a test"}
    assert client.patch(f"{AGENTS}/{agent['id']}", json={"owner_user_id": person}).status_code == 200

    clock.advance(timedelta(days=8))
    sweep(clients)

    assert (status_of(client, agent), status_of(client, suspended)) == ("active", "suspended")
    refused = client.post(f"{path}/resume", json=why)
    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "ownerless")
    client.patch(path, json={"owner_user_id": person})
    assert client.post(f"{path}/resume", json=why).status_code == 200
    sweep(clients)
    assert status_of(client, suspended) == "active"


@pytest.mark.both_engines
def test_a_tenant_chooses_how_long_an_agent_goes_on(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    assert client.get(SETTINGS).json() == {"ownerless_grace_days": 7}
    agent = lose_owner(client, clients)

    assert client.put(SETTINGS, json={"ownerless_grace_days": 30}).json() == {"ownerless_grace_days": 30}
    clock.advance(timedelta(days=29))
    sweep(clients)
    assert status_of(client, agent) == "active"

    assert client.put(SETTINGS, json={"ownerless_grace_days": 0}).status_code == 200
    sweep(clients)
    assert (status_of(client, agent), client.get(SETTINGS).json()) == ("suspended", {"ownerless_grace_days": 0})
    trail = read_audit_trail(clients.lab, str(clients.tenant.tenant_id))
    assert [action for action, _ in trail if action.startswith("agent_settings")] == ["agent_settings.set"] * 2


@pytest.mark.parametrize("days", [-1, 366, 1.5, None, "seven"])
def test_a_grace_out_of_bounds_changes_nothing(client: httpx.Client, days: object) -> None:
    refused = client.put(SETTINGS, json={"ownerless_grace_days": days})

    assert refused.status_code == 400
    assert refused.json()["details"]["fields"][0]["field"] == "/ownerless_grace_days"
    assert client.get(SETTINGS).json() == {"ownerless_grace_days": 7}


def test_an_agent_changes_no_settings(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client, scopes=["agents:*"])
    with (
        make_client(clients.url, token=open_session(client, agent)["token"]) as session,
        clients.with_key(Scope.AGENTS_READ) as reader,
    ):
        assert session.get(SETTINGS).status_code == 200
        assert session.put(SETTINGS, json={"ownerless_grace_days": 365}).status_code == 403
        assert reader.put(SETTINGS, json={"ownerless_grace_days": 365}).status_code == 403


@pytest.mark.own_world
@pytest.mark.both_engines
def test_an_owner_who_left_before_the_service_noted_that_is_noticed_once(
    client: httpx.Client, clients: TenantClients, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents of versions before revision 0040, which removed people and noted nothing."""
    with monkeypatch.context() as before:
        before.setattr(clients.lab.people, "dependents", [])
        agent, revoked = lose_owner(client, clients), lose_owner(client, clients)
    client.post(f"{AGENTS}/{revoked['id']}/revoke", json={"reason": "a test"}).raise_for_status()
    assert signals_of(client, agent) == []

    for _ in range(3):
        sweep(clients)

    assert (signals_of(client, agent), signals_of(client, revoked)) == (["ownerless"], [])
    assert [each["agent_id"] for each in read_events_of_type(clients.lab, "agent.owner_left")] == [agent["id"]]
    found = client.get(f"{AGENTS}/review", params={"finding": "ownerless"}).json()["items"]
    assert [item["agent_id"] for item in found] == [agent["id"]]
    clock.advance(timedelta(days=7, seconds=-1))
    sweep(clients)
    assert status_of(client, agent) == "active", "its grace begins when it is noticed"
    clock.advance(timedelta(seconds=1))
    sweep(clients)
    assert status_of(client, agent) == "suspended"


@pytest.mark.own_world
def test_many_owners_who_left_are_noticed_in_batches(
    client: httpx.Client, clients: TenantClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(clients.lab.people, "dependents", [])
        agents = [lose_owner(client, clients) for _ in range(3)]

    done = []
    for _ in range(3):
        with clients.lab.storage.write() as tx:
            done.append(clients.lab.agents.owners.notice_earlier(tx, limit=2))

    assert done == [2, 1, 0]
    assert [signals_of(client, each) for each in agents] == [["ownerless"]] * 3


def test_of_a_person_with_very_many_agents_the_next_sweep_notices_the_rest(
    client: httpx.Client, clients: TenantClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "MAX_NOTED_AT_ONCE", 1)
    sweep(clients)
    person, signed_in = clients.person("admin")
    signed_in.close()
    agents = [register_agent(client, owner_user_id=person) for _ in range(3)]
    with clients.owner() as boss:
        assert boss.delete(f"/v1/users/{person}").status_code == 204

    assert sorted(signals_of(client, each) for each in agents) == [[], [], ["ownerless"]]
    found = client.get(f"{AGENTS}/review", params={"finding": "ownerless"}).json()["items"]
    assert len(found) == 3
    sweep(clients)
    assert [signals_of(client, each) for each in agents] == [["ownerless"]] * 3
    noted = [each["agent_id"] for each in read_events_of_type(clients.lab, "agent.owner_left")]
    assert [noted.count(each["id"]) for each in agents] == [1, 1, 1]
