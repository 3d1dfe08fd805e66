"""The states of agents: suspended, resumed, revoked, killed with all below, expired; each change in the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller
from support.agents import AGENTS, find_agent, place_below, register_agent
from support.log.entries import read_log_entries
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world
WHY = {"reason": "it probes"}


def change(client: httpx.Client, agent: dict[str, Any], verb: str) -> httpx.Response:
    return client.post(f"{AGENTS}/{agent['id']}/{verb}", json=WHY)


def statuses_in_log(lab: Installation, agent: dict[str, Any]) -> list[object]:
    """The statuses that the log has of an agent, oldest first."""
    subject = f"agent:{agent['id']}"
    found, start = [], 0
    while page := read_log_entries(lab, start):
        found += [entry.members["status"] for entry in page if entry.subject == subject]
        start += len(page)
    return found


@pytest.mark.both_engines
def test_an_agent_is_suspended_resumed_and_revoked(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)

    seen = [change(client, agent, verb).json()["status"] for verb in ("suspend", "resume", "suspend", "revoke")]

    assert seen == ["suspended", "active", "suspended", "revoked"]
    assert statuses_in_log(clients.lab, agent) == seen
    assert read_audit_trail(clients.lab, agent["id"]) == [
        (f"agent.{verb}", "API_KEY") for verb in ("register", "suspend", "resume", "suspend", "revoke")
    ]
    for kind, times in (("agent.suspended", 2), ("agent.resumed", 1), ("agent.revoked", 1)):
        facts = [each for each in read_events_of_type(clients.lab, kind) if each["agent_id"] == agent["id"]]
        assert len(facts) == times
    assert find_agent(clients.lab, agent["id"]).changed_index is not None
    assert list(fsck(clients.lab)) == []


@pytest.mark.parametrize(
    ("before", "verb", "status"),
    [
        ([], "resume", "active"),
        (["suspend"], "suspend", "suspended"),
        (["revoke"], "suspend", "revoked"),
        (["revoke"], "resume", "revoked"),
        (["revoke"], "revoke", "revoked"),
        (["revoke"], "kill", "revoked"),
    ],
)
def test_any_other_change_is_a_conflict_that_changes_nothing(
    client: httpx.Client, before: list[str], verb: str, status: str
) -> None:
    agent = register_agent(client)
    for each in before:
        change(client, agent, each)
    now = client.get(f"{AGENTS}/{agent['id']}").json()

    refused = change(client, agent, verb)

    assert (refused.status_code, refused.json()["details"]["status"]) == (409, status)
    assert client.get(f"{AGENTS}/{agent['id']}").json() == now


def test_a_revoked_agent_does_not_change(client: httpx.Client) -> None:
    agent = register_agent(client)
    change(client, agent, "revoke")
    path = f"{AGENTS}/{agent['id']}"

    answers = [
        client.patch(path, json={"description": "x"}),
        client.post(f"{path}/keys/rotate", json={}),
        client.post(f"{path}/sign", json={"payload": {}}),
    ]

    assert [(each.status_code, each.json()["details"]["status"]) for each in answers] == [(409, "revoked")] * 3


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": " "}, {"reason": "a" * 1001}, {"reason": 7}])
def test_a_change_needs_a_reason(client: httpx.Client, body: dict[str, Any]) -> None:
    agent = register_agent(client)

    for verb in ("suspend", "resume", "revoke", "kill"):
        answer = client.post(f"{AGENTS}/{agent['id']}/{verb}", json=body)
        assert answer.json()["details"]["fields"][0]["field"] == "/reason"
    assert client.get(f"{AGENTS}/{agent['id']}").json() == agent


def plant_tree(client: httpx.Client, lab: Installation, caller: Caller) -> list[dict[str, Any]]:
    """A root with a child and a revoked one, each with one child."""
    agents = [register_agent(client, display_name=f"Agent {number}") for number in range(5)]
    root, left, right, below_left, below_right = agents
    for parent, child in ((root, left), (root, right), (left, below_left), (right, below_right)):
        place_below(lab, parent["id"], child["id"], scopes="", caller=caller)
    change(client, right, "revoke")
    return agents


@pytest.mark.both_engines
def test_a_kill_revokes_the_tree_in_one_append_and_its_dry_run_says_so_before(
    client: httpx.Client, clients: TenantClients, keeper: Caller
) -> None:
    agents = plant_tree(client, clients.lab, keeper)
    root = agents[0]
    size = client.get("/v1/log/head").json()["tree_size"]

    planned = client.post(f"{AGENTS}/{root['id']}/kill", json={**WHY, "dry_run": True}).json()
    assert planned["dry_run"] is True
    assert client.get("/v1/log/head").json()["tree_size"] == size
    assert client.get(f"{AGENTS}/{root['id']}").json()["status"] == "active"

    killed = client.post(f"{AGENTS}/{root['id']}/kill", json=WHY).json()

    counted = ("terminated_sessions", "revoked_descendants", "revoked_delegations")
    assert {name: killed[name] for name in counted} == {name: planned[name] for name in counted}
    assert (killed["agent"]["status"], killed["revoked_descendants"]) == ("revoked", 3)
    assert {item["status"] for item in client.get(AGENTS).json()["items"]} == {"revoked"}
    added = read_log_entries(clients.lab, size)
    assert [entry.kind for entry in added] == ["agent.status"] * 4
    assert {entry.members["agent_id"] for entry in added} == {each["id"] for each in agents if each is not agents[2]}
    checkpoints = client.get("/v1/log/checkpoints", params={"limit": 2}).json()["items"]
    assert [each["tree_size"] for each in checkpoints] == [size + 4, size]
    (fact,) = (e for e in read_events_of_type(clients.lab, "agent.killed") if e["agent_id"] == root["id"])
    assert (fact["revoked_descendants"], fact["terminated_sessions"]) == (3, 0)
    assert read_audit_trail(clients.lab, agents[3]["id"])[-1] == ("agent.kill", "API_KEY")
    assert list(fsck(clients.lab)) == []


def test_a_kill_without_cascade_leaves_the_agents_below(
    client: httpx.Client, clients: TenantClients, keeper: Caller
) -> None:
    root, left, *_ = plant_tree(client, clients.lab, keeper)

    killed = client.post(f"{AGENTS}/{root['id']}/kill", json={**WHY, "cascade": False}).json()

    assert killed["revoked_descendants"] == 0
    assert client.get(f"{AGENTS}/{left['id']}").json()["status"] == "active"
    again = client.post(f"{AGENTS}/{root['id']}/kill", json=WHY).json()
    assert (again["agent"]["status"], again["revoked_descendants"]) == ("revoked", 3)
    assert change(client, root, "kill").status_code == 409


@pytest.mark.both_engines
def test_an_expired_agent_is_revoked_from_that_moment_and_once_for_good(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    lab, ends_at = clients.lab, clock.now() + timedelta(hours=1)
    agent = register_agent(client, expires_at=ends_at.isoformat())
    clock.advance(timedelta(minutes=59))
    assert client.get(f"{AGENTS}/{agent['id']}").json()["status"] == "active"

    clock.advance(timedelta(minutes=1))
    assert client.get(f"{AGENTS}/{agent['id']}").json()["status"] == "revoked"
    assert [item["id"] for item in client.get(AGENTS, params={"status": "revoked"}).json()["items"]] == [agent["id"]]
    assert client.get(AGENTS, params={"status": "active"}).json()["items"] == []
    assert change(client, agent, "suspend").json()["details"]["status"] == "revoked"
    assert statuses_in_log(lab, agent) == []

    for _ in range(2):
        with lab.storage.write() as tx:
            assert lab.agents.expire(tx, at_most=100) is False
    assert statuses_in_log(lab, agent) == ["revoked"]
    facts = [each for each in read_events_of_type(lab, "agent.revoked") if each["agent_id"] == agent["id"]]
    assert len(facts) == 1
    assert read_audit_trail(lab, agent["id"])[-1] == ("agent.expire", "SERVICE")


def test_an_expiry_is_moved_and_removed(client: httpx.Client, clock: FixedClock) -> None:
    agent = register_agent(client, expires_at=(clock.now() + timedelta(hours=1)).isoformat())

    removed = client.patch(f"{AGENTS}/{agent['id']}", json={"expires_at": None}).json()

    clock.advance(timedelta(hours=2))
    assert removed["expires_at"] is None
    assert client.get(f"{AGENTS}/{agent['id']}").json()["status"] == "active"
