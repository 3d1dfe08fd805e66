"""The whole story of a fleet: who answers for it, what an agent may do, what it did, and how a person stops it.

A server process on a real database takes part; people, agents and a stranger speak HTTP with it, and the stranger
verifies with what was downloaded alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from attestlab.orgs.rules import Plan
from support.agents import AGENTS, SESSIONS, KeyHolder, sign_assertion
from support.in_process_server import make_client
from support.orgs import TenantClients
from support.runs import RUNS, digest
from support.server_process import ServerProcess, run_json_command
from support.votes import REQUESTS

PLAN = {
    "steps": [
        {"id": "fetch", "type": "read"},
        {"id": "sum", "type": "compute", "depends_on": ["fetch"]},
        {"id": "report", "type": "write", "depends_on": ["sum"]},
    ]
}
ONE_JOIN = """
SELECT agents.display_name AS agent, agents.status AS status, boss.display_name AS let_by,
  delegations.scopes AS scopes, delegations.revoked_because AS ended,
  (SELECT list(action ORDER BY seq) FROM audit WHERE actor_type = 'AGENT' AND actor_id = agents.id) AS deeds,
  (SELECT list(verdict ORDER BY verdict) FROM witness_votes WHERE originator_agent_id = agents.id) AS votes,
  (SELECT list(step_id ORDER BY position) FROM run_steps WHERE agent_id = agents.id AND chain_ok) AS steps
FROM agents JOIN delegations ON delegations.child_agent_id = agents.id
JOIN agents boss ON boss.id = delegations.parent_agent_id
WHERE agents.display_name = 'Invoice reader'
"""


@dataclass
class Fleet:
    """A served tenant, its people Ann and Ben, an analyst's key, a stranger, and what they made so far."""

    clients: TenantClients
    ann_id: str
    ann: httpx.Client
    ben: httpx.Client
    analyst: httpx.Client
    stranger: httpx.Client
    held: ExitStack
    acting: dict[str, httpx.Client] = field(default_factory=dict)
    """The sessions of agents, by the names of the agents."""

    def act(self, name: str, opened: dict[str, Any]) -> httpx.Client:
        """Act as an agent with the token of its session, until the test is over."""
        made = self.held.enter_context(make_client(self.clients.url, token=opened["token"]))
        self.acting[name] = made
        return made


@pytest.fixture
def fleet(server: ServerProcess) -> Iterator[Fleet]:
    lab = server.open_lab()
    with ExitStack() as held:
        held.callback(lab.close)
        tenant = lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
        clients = TenantClients(lab, server.url, tenant)
        ann_id, ann = clients.person("admin", email="ann@northfield.example")
        _, ben = clients.person("admin", email="ben@northfield.example")
        analyst, stranger = clients.with_key(), clients.anonymous()
        for each in (ann, ben, analyst, stranger):
            held.enter_context(each)
        yield Fleet(clients, ann_id, ann, ben, analyst, stranger, held)


def read(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send_signed(client: httpx.Client, path: str, holder: KeyHolder, **body: Any) -> dict[str, Any]:
    """Ask what to sign, sign it with the agent's own key, and send both."""
    asked = client.post(path, json=body)
    assert asked.status_code == 400, asked.text
    proposed: str = asked.json()["details"]["signing_input_b64url"]
    return send(client, path, **body, signature=f"{proposed}.{holder.sign(proposed.encode())}")


@pytest.mark.both_engines
def test_a_person_answers_for_a_fleet_sees_what_it_did_and_stops_it(fleet: Fleet, tmp_path: Path) -> None:
    holder = KeyHolder()
    boss = register_an_orchestrator(fleet, holder)
    made = delegate_to_a_worker(fleet, boss, holder)
    worker = made["child"]
    run = run_three_steps(fleet, worker)
    confirm_the_run(fleet, worker, run)
    find_in_the_log(fleet, run)
    trust = pin_the_log(fleet, tmp_path)
    chain = download(fleet.ann, f"/v1/delegations/{made['delegation_id']}/proof-bundle", tmp_path / "chain.json")
    verified = run_json_command("verify", str(chain), "--trust", str(trust), "--json")
    assert (verified["verdict"], verified["leaf_agent_id"]) == ("VALID", worker["id"])
    stop_the_tree(fleet, boss, made)
    read_it_all_in_one_join(fleet)


def register_an_orchestrator(fleet: Fleet, holder: KeyHolder) -> dict[str, Any]:
    """Ann registers an agent with its own key, which opens a session by its assertion alone."""
    scopes = ["docs:*", "agents:read", "agents:write"]
    named = {"display_name": "Invoice desk", "agent_type": "orchestrator"}
    boss = send(fleet.ann, AGENTS, **named, scopes=scopes, **holder.prove(fleet.ann))
    assert (boss["owner_user_id"], boss["created_by_user_id"]) == (fleet.ann_id, fleet.ann_id)
    assert (boss["custody"], boss["trust_score"], boss["trust_level"]) == ("external", 0.5, "authenticated")
    assertion = sign_assertion(holder, boss, fleet.clients.lab, aud=f"{fleet.clients.url}{SESSIONS}")
    opened = send(fleet.stranger, SESSIONS, assertion=assertion)  # without any credential of the tenant
    fleet.act("boss", opened)
    assert fleet.stranger.post(SESSIONS, json={"assertion": assertion}).status_code == 401
    return boss


def delegate_to_a_worker(fleet: Fleet, boss: dict[str, Any], holder: KeyHolder) -> dict[str, Any]:
    """The orchestrator delegates reading, not deleting, in its session and with its key."""
    worker = send(fleet.ann, AGENTS, display_name="Invoice reader", scopes=["docs:*"])
    body = {"child_agent_id": worker["id"], "scopes": ["docs:read", "!docs:delete"]}
    made = send_signed(fleet.acting["boss"], f"{AGENTS}/{boss['id']}/delegations", holder, **body)
    assert (made["scopes"], made["denied_scopes"], made["depth"]) == (["docs:read"], ["docs:delete"], 1)
    verify = partial(send, fleet.stranger, "/v1/delegations/verify", chain=made["chain"])
    verdicts = [verify(required_scope=scope)["verdict"] for scope in ("docs:read", "docs:delete", "docs:write")]
    assert verdicts == ["VALID", "SCOPE_VIOLATION", "SCOPE_VIOLATION"]
    opened = send(fleet.ann, SESSIONS, agent_id=worker["id"])
    assert opened["session"]["scopes"] == ["docs:read", "!docs:delete"]
    fleet.act("worker", opened)
    return made


def run_three_steps(fleet: Fleet, worker: dict[str, Any]) -> dict[str, Any]:
    """The worker records three steps that chain; its run becomes an entry of the log."""
    run = send(fleet.ann, RUNS, agent_id=worker["id"], name="Invoices of May", plan=PLAN)
    steps = f"{RUNS}/{run['orchestration_id']}/steps"
    for inputs, step in (("start", "fetch"), ("fetch", "sum"), ("sum", "report")):
        hashes = {"inputs_hash": digest(inputs), "outputs_hash": digest(step)}
        assert send(fleet.acting["worker"], steps, step_id=step, status="completed", **hashes)["chain_ok"]
    ended = send(fleet.ann, f"{RUNS}/{run['orchestration_id']}/complete")
    assert (ended["status"], ended["chain_ok"], ended["agent_id"]) == ("completed", True, worker["id"])
    return ended


def confirm_the_run(fleet: Fleet, worker: dict[str, Any], run: dict[str, Any]) -> None:
    """Two agents of no common tree confirm the run, each in its own session; one holds its key."""
    claim = {"subject": run["orchestration_id"], "claim_type": "run_hash", "claim_value": run["run_hash"]}
    asked = send(fleet.ann, REQUESTS, originator_agent_id=worker["id"], claim=claim, required_witnesses=2)
    votes = f"{REQUESTS}/{asked['request_id']}/attest"
    itself = fleet.acting["worker"].post(votes, json={"agent_id": worker["id"], "verdict": "confirm"})
    assert (itself.status_code, itself.json()["details"]["reason"]) == (403, "not_independent")
    first, key = send(fleet.ann, AGENTS, display_name="Auditor"), KeyHolder()
    second = send(fleet.ann, AGENTS, display_name="Examiner", **key.prove(fleet.ann))
    voting = [
        fleet.act(each["display_name"], send(fleet.ann, SESSIONS, agent_id=each["id"])) for each in (first, second)
    ]
    send(voting[0], votes, agent_id=first["id"], verdict="confirm")
    send_signed(voting[1], votes, key, agent_id=second["id"], verdict="confirm", evidence="the sums are right")
    consensus = read(fleet.analyst, f"{REQUESTS}/{asked['request_id']}/consensus")
    assert (consensus["status"], consensus["confirm"]) == ("confirmed", 2)


def find_in_the_log(fleet: Fleet, run: dict[str, Any]) -> None:
    """A stranger finds the run in the public log, under the hash that its witnesses confirmed."""
    (found,) = read(fleet.stranger, "/v1/log/entries", start=run["log_index"], limit=1)["items"]
    stated = json.loads(base64.b64decode(found["entry_b64"]))
    assert (stated["type"], stated["orchestration_id"]) == ("run.completed", run["orchestration_id"])
    assert stated["run_hash"] == run["run_hash"]


def pin_the_log(fleet: Fleet, folder: Path) -> Path:
    """Write the log's key as a stranger pins it."""
    trust = folder / "trust.txt"
    trust.write_text(f"log {read(fleet.stranger, '/v1/log/vkey')['vkey']}\nquorum none\n")
    return trust


def download(client: httpx.Client, path: str, file: Path) -> Path:
    file.write_text(json.dumps(read(client, path)))
    return file


def stop_the_tree(fleet: Fleet, boss: dict[str, Any], made: dict[str, Any]) -> None:
    """Ben looks at the dry run, then kills; the very next request of each agent of the tree is refused."""
    kill = partial(send, fleet.ben, f"{AGENTS}/{boss['id']}/kill", reason="the worker probes")
    counted = kill(dry_run=True)
    assert (counted["revoked_descendants"], counted["terminated_sessions"], counted["revoked_delegations"]) == (1, 2, 1)
    assert [fleet.acting[name].get("/v1/me").status_code for name in ("boss", "worker")] == [200, 200]
    killed = kill()
    assert {**killed, "agent": None} == {**counted, "agent": None, "dry_run": False}
    answers = {name: acting.get("/v1/me").status_code for name, acting in fleet.acting.items()}
    assert answers == {"boss": 401, "worker": 401, "Auditor": 200, "Examiner": 200}
    verified = send(fleet.stranger, "/v1/delegations/verify", chain=made["chain"])
    assert verified["verdict"] == "REVOKED"


def read_it_all_in_one_join(fleet: Fleet) -> None:
    """The analyst asks one query who let the worker, what it may do, what it did, and how it ended."""
    found = send(fleet.analyst, "/v1/lake/query", sql=ONE_JOIN)
    (row,) = found["rows"]
    seen = dict(zip([column["name"] for column in found["columns"]], row, strict=True))
    assert (seen["status"], seen["let_by"], seen["scopes"]) == (
        "revoked",
        "Invoice desk",
        ["docs:read", "!docs:delete"],
    )
    assert (seen["votes"], seen["steps"]) == (["confirm", "confirm"], ["fetch", "sum", "report"])
    assert (seen["deeds"].count("run_step.record"), seen["ended"]) == (3, "killed")
    assert "request.denied" in seen["deeds"], "the vote for itself, which was refused"
