"""Keys of agents: made by the service or proven by their holder; rotated, compromised, all in the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import b64url_encode
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan
from support.agents import AGENTS, PROOF_PREFIX, KeyHolder, register_agent
from support.log.entries import read_log_entries
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world


def ledger(client: httpx.Client, agent: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(f"{AGENTS}/{agent['id']}/keys").json()["items"]
    return items


@pytest.mark.both_engines
def test_an_agent_registers_with_a_proven_key_of_its_own(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()

    agent = register_agent(client, **holder.prove(client))

    assert (agent["custody"], agent["public_key"]) == ("external", holder.public_key)
    assert agent["key_id"].startswith("agk_")
    assert list(fsck(clients.lab)) == []


@pytest.mark.parametrize(
    "fault", ["another key", "another challenge", "no prefix", "late", "used", "replaced", "stolen"]
)
def test_a_wrong_proof_registers_nothing(
    client: httpx.Client, clients: TenantClients, clock: FixedClock, fault: str
) -> None:
    holder = KeyHolder()
    sent = holder.prove(client)
    match fault:
        case "another key":
            sent["proof"] = KeyHolder().sign(PROOF_PREFIX + b"x")
        case "another challenge":
            sent["proof"] = holder.sign(PROOF_PREFIX + b"A" * 43)
        case "no prefix":
            challenge = client.post(f"{AGENTS}/challenges", json={"public_key": holder.public_key}).json()
            sent["proof"] = holder.sign(challenge["challenge"].encode())
        case "late":
            clock.advance(timedelta(minutes=5))
        case "used":
            agent = register_agent(client, **sent)
            client.post(f"{AGENTS}/{agent['id']}/keys/rotate", json={})
        case "replaced":
            client.post(f"{AGENTS}/challenges", json={"public_key": holder.public_key})
        case "stolen":
            sent["public_key"] = KeyHolder().public_key
    before = client.get(AGENTS).json()["items"]

    refused = client.post(AGENTS, json={"display_name": "A", **sent})

    assert refused.status_code == (409 if fault == "used" else 400), refused.text
    if fault != "used":
        assert refused.json()["details"]["fields"][0]["field"] == "/proof"
    assert client.get(AGENTS).json()["items"] == before


def test_a_challenge_of_another_tenant_proves_nothing(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    stranger = clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)
    with clients.with_key(tenant=stranger) as theirs:
        sent = holder.prove(theirs)

    refused = client.post(AGENTS, json={"display_name": "A", **sent})

    assert refused.json()["details"]["fields"][0]["code"] == "no_challenge"


@pytest.mark.parametrize("key", ["", "AAAA", "!", "A" * 43, "A" * 16_385, "_" * 43, b64url_encode(b"\x01" + bytes(31))])
def test_a_key_that_is_none_gets_no_challenge(client: httpx.Client, key: str) -> None:
    answer = client.post(f"{AGENTS}/challenges", json={"public_key": key})

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/public_key")


def test_overdue_challenges_are_dropped(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    KeyHolder().prove(client)
    clock.advance(timedelta(minutes=5))

    with clients.lab.storage.write() as tx:
        clients.lab.agents.drop_overdue(tx)
        left = tx.connection.exec_driver_sql("SELECT count(*) FROM agent_challenges").scalar()

    assert left == 0


@pytest.mark.both_engines
def test_keys_are_rotated_between_both_custodies(client: httpx.Client, clients: TenantClients) -> None:
    agent, holder = register_agent(client), KeyHolder()

    own = client.post(f"{AGENTS}/{agent['id']}/keys/rotate", json=holder.prove(client)).json()
    managed = client.post(f"{AGENTS}/{agent['id']}/keys/rotate").json()

    assert (own["old_key"]["kid"], own["old_key"]["status"]) == (agent["key_id"], "rotated")
    assert (own["new_key"]["custody"], own["new_key"]["public_key"]) == ("external", holder.public_key)
    assert managed["old_key"]["kid"] == own["new_key"]["kid"]
    keys = ledger(client, agent)
    assert [(key["status"], key["custody"]) for key in keys] == [
        ("active", "managed"),
        ("rotated", "external"),
        ("rotated", "managed"),
    ]
    now = client.get(f"{AGENTS}/{agent['id']}").json()
    assert (now["key_id"], now["custody"], now["keys"]) == (keys[0]["kid"], "managed", keys)
    for key in keys:
        entries = read_log_entries(clients.lab, key["log_index"])
        assert (entries[0].members["kid"], entries[0].members["status"]) == (key["kid"], "active")
    facts = [each for each in read_events_of_type(clients.lab, "agent.key_rotated") if each["agent_id"] == agent["id"]]
    assert [(each["kid"], each["new_kid"]) for each in facts] == [
        (keys[2]["kid"], keys[1]["kid"]),
        (keys[1]["kid"], keys[0]["kid"]),
    ]
    assert list(fsck(clients.lab)) == []


def test_the_ledger_is_paged_and_a_record_shows_its_newest_keys(client: httpx.Client) -> None:
    agent = register_agent(client)
    for _ in range(6):
        client.post(f"{AGENTS}/{agent['id']}/keys/rotate")

    first = client.get(f"{AGENTS}/{agent['id']}/keys", params={"limit": 4}).json()
    rest = client.get(f"{AGENTS}/{agent['id']}/keys", params={"cursor": first["next_cursor"]}).json()

    assert (len(first["items"]), len(rest["items"]), rest["next_cursor"]) == (4, 3, None)
    assert rest["items"][-1]["kid"] == agent["key_id"]
    shown = client.get(f"{AGENTS}/{agent['id']}").json()["keys"]
    assert shown == (first["items"] + rest["items"])[:5]


@pytest.mark.both_engines
def test_a_compromise_suspends_the_agent_until_it_has_another_key(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    path = f"{AGENTS}/{agent['id']}"
    body = {"reason": "found in a repository", "compromised_at": "2026-11-20T00:00:00Z"}

    reported = client.post(f"{path}/keys/{agent['key_id']}/compromise", json=body).json()
    early = client.post(f"{path}/resume", json={"reason": "a test"})
    again = client.post(f"{path}/keys/{agent['key_id']}/compromise", json=body)
    rotated = client.post(f"{path}/keys/rotate").json()
    resumed = client.post(f"{path}/resume", json={"reason": "it has another key"}).json()

    assert (reported["status"], reported["compromised_at"]) == ("compromised", "2026-11-20T00:00:00.000Z")
    assert (early.status_code, early.json()["details"]["reason"]) == (409, "key_compromised")
    assert again.status_code == 409
    assert (rotated["old_key"]["status"], rotated["new_key"]["status"]) == ("compromised", "active")
    assert (resumed["status"], resumed["key_id"]) == ("active", rotated["new_key"]["kid"])
    assert read_audit_trail(clients.lab, agent["key_id"]) == [
        ("agent_key.create", "API_KEY"),
        ("agent_key.compromise", "API_KEY"),
    ]
    text = b"".join(str(entry.members).encode() for entry in read_log_entries(clients.lab, reported["log_index"]))
    assert b"repository" not in text
    assert list(fsck(clients.lab)) == []


def test_a_wrong_report_changes_nothing(client: httpx.Client, clock: FixedClock) -> None:
    agent, other = register_agent(client), register_agent(client)
    path = f"{AGENTS}/{agent['id']}/keys"

    tomorrow = (clock.now() + timedelta(days=1)).isoformat()

    ahead = client.post(f"{path}/{agent['key_id']}/compromise", json={"reason": "r", "compromised_at": tomorrow})
    foreign = client.post(f"{path}/{other['key_id']}/compromise", json={"reason": "r"})

    assert (ahead.status_code, foreign.status_code) == (400, 404)
    assert client.get(f"{AGENTS}/{agent['id']}").json() == agent
    assert client.get(f"{AGENTS}/{other['id']}").json() == other
