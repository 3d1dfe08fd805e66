"""The whole story of a fleet: who answers for it, what an agent may do, what it did, and how a person stops it.

Two server processes on a real database take part; people, agents and a stranger speak HTTP with them, and the stranger
verifies with what was downloaded alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attestlab.agents.observability.rules import PROBE_REFUSALS
from support.accepted_requests import read, send
from support.agent_events import list_signals
from support.agents import AGENTS, SESSIONS, KeyHolder, sign_assertion
from support.fleet import Fleet, download, found_fleet, pin_log, send_signed
from support.in_process_server import serve_in_thread
from support.runs import RUNS, digest
from support.server_process import ServerProcess, run_json_command
from support.trust import get_stored_score, get_trust, list_changes
from support.votes import REQUESTS

PLAN = {
    "steps": [
        {"id": "fetch", "type": "read"},
        {"id": "sum", "type": "compute", "depends_on": ["fetch"]},
        {"id": "report", "type": "write", "depends_on": ["sum"]},
    ]
}
FORBIDDEN = ("/v1/attestations", "/v1/issuers", "/v1/risk/signals", "/v1/policies", "/v1/webhooks/endpoints")
ONE_JOIN = """
SELECT agents.status AS status, agents.trust_score AS trust, boss.display_name AS let_by,
  delegations.scopes AS scopes, delegations.revoked_because AS ended, cases.status AS case_is,
  list(DISTINCT run_steps.step_id ORDER BY run_steps.step_id) AS steps,
  list(DISTINCT voter.display_name ORDER BY voter.display_name) AS confirmed_by,
  list(DISTINCT signals.signal_type ORDER BY signals.signal_type) AS signals,
  count(DISTINCT audit.seq) FILTER (audit.action = 'run_step.record') AS recorded,
  count(DISTINCT audit.seq)
    FILTER (audit.action = 'request.denied' AND audit.metadata LIKE '%"required_scope"%') AS probes
FROM agents
JOIN delegations ON delegations.child_agent_id = agents.id
JOIN agents AS boss ON boss.id = delegations.parent_agent_id
JOIN run_steps ON run_steps.agent_id = agents.id AND run_steps.chain_ok
JOIN witness_votes ON witness_votes.subject = run_steps.orchestration_id AND witness_votes.verdict = 'confirm'
JOIN agents AS voter ON voter.id = witness_votes.agent_id
JOIN signals ON signals.entity_id = agents.agent_id
JOIN cases ON cases.id = signals.case_id
JOIN audit ON audit.actor_type = 'AGENT' AND audit.actor_id = agents.id
WHERE agents.display_name = 'Invoice reader'
GROUP BY ALL
"""


@pytest.fixture
def fleet(server: ServerProcess) -> Iterator[Fleet]:
    with found_fleet(server) as made:
        yield made


@pytest.mark.both_engines
def test_a_person_answers_for_a_fleet_sees_what_it_did_and_stops_it(fleet: Fleet, tmp_path: Path) -> None:
    holder = KeyHolder()
    boss = register_an_orchestrator(fleet, holder)
    made = delegate_to_a_worker(fleet, boss, holder)
    worker = made["child"]
    run = run_three_steps(fleet, worker)
    confirm_the_run(fleet, worker, run)
    find_in_the_log(fleet, run)
    verify_offline(fleet, made, run, tmp_path)
    probe(fleet, worker)
    explain_the_fall_of_trust(fleet, worker)
    stop_the_tree(fleet, boss, made)
    read_it_all_in_one_join(fleet, worker)


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


def verify_offline(fleet: Fleet, made: dict[str, Any], run: dict[str, Any], folder: Path) -> None:
    """A stranger who has two files and the log's key verifies what the worker may do, and what it did."""
    trust = pin_log(fleet.stranger, folder)
    chain = download(fleet.ann, f"/v1/delegations/{made['delegation_id']}/proof-bundle", folder / "chain.json")
    verified = run_json_command("verify", str(chain), "--trust", str(trust), "--json")
    assert (verified["verdict"], verified["leaf_agent_id"]) == ("VALID", made["child"]["id"])
    proof = download(fleet.ann, f"{RUNS}/{run['orchestration_id']}/proof-bundle", folder / "run.json")
    verified = run_json_command("verify", str(proof), "--trust", str(trust), "--json")
    assert (verified["verdict"], verified["agent_id"]) == ("VALID", made["child"]["id"])
    assert (verified["recorded_steps"], verified["chain_ok"], verified["run_hash"]) == (3, True, run["run_hash"])


def probe(fleet: Fleet, worker: dict[str, Any]) -> None:
    """The worker asks for what it may not have; the tenth refusal makes a signal, which opens a case."""
    asked = [FORBIDDEN[number % len(FORBIDDEN)] for number in range(PROBE_REFUSALS)]
    refused = [fleet.acting["worker"].get(path) for path in asked[:-1]]
    assert list_signals(fleet.analyst, worker) == []
    refused.append(fleet.acting["worker"].get(asked[-1]))
    assert {each.status_code for each in refused} == {403}
    assert all("required_scope" in each.json()["details"] for each in refused)
    (signal,) = list_signals(fleet.analyst, worker)
    assert (signal["source"], signal["signal_type"], signal["score"]) == ("agent", "scope_probe", 85)
    case = read(fleet.analyst, f"/v1/risk/cases/{signal['case_id']}")
    assert (case["status"], case["entity_id"], case["signal_count"]) == ("open", worker["agent_id"], 1)


def explain_the_fall_of_trust(fleet: Fleet, worker: dict[str, Any]) -> None:
    """The history of the worker's trust names the signal as the cause, and the formula the points that it took."""
    (signal,) = list_signals(fleet.analyst, worker)
    after, before = list_changes(fleet.analyst, worker)
    assert (before["cause"], after["cause"], after["reference"]) == ("witness", "signal", signal["id"])
    (penalty,) = get_trust(fleet.analyst, worker)["penalties"]
    assert (penalty["signal_id"], round(penalty["points"], 3)) == (signal["id"], 0.425)
    assert (before["score"], after["score"]) == (0.5, 0.096)  # it had earned 0.521; its parent's 0.5 was the cap
    assert get_stored_score(fleet.analyst, worker)[0] == after["score"]


def stop_the_tree(fleet: Fleet, boss: dict[str, Any], made: dict[str, Any]) -> None:
    """Ben looks at the dry run, then kills; both servers refuse the very next request of each agent of the tree."""
    kill = partial(send, fleet.ben, f"{AGENTS}/{boss['id']}/kill", reason="the worker probes")
    with serve_in_thread(fleet.clients.lab) as other_server:
        counted = kill(dry_run=True)
        totals = (counted["revoked_descendants"], counted["terminated_sessions"], counted["revoked_delegations"])
        assert totals == (1, 2, 1)
        for url in (None, other_server):
            assert {*fleet.ask_who_they_are(url).values()} == {200}
        killed = kill()
        for url in (other_server, None):
            assert fleet.ask_who_they_are(url) == {"boss": 401, "worker": 401, "Auditor": 200, "Examiner": 200}
    assert {**killed, "agent": None} == {**counted, "agent": None, "dry_run": False}
    verified = send(fleet.stranger, "/v1/delegations/verify", chain=made["chain"])
    assert verified["verdict"] == "REVOKED"


def read_it_all_in_one_join(fleet: Fleet, worker: dict[str, Any]) -> None:
    """The analyst asks in one join who let the worker, what it may do, what it did, and how it ended."""
    found = send(fleet.analyst, "/v1/lake/query", sql=ONE_JOIN)
    (row,) = found["rows"]
    seen = dict(zip([column["name"] for column in found["columns"]], row, strict=True))
    assert seen == {
        "status": "revoked",
        "trust": get_stored_score(fleet.analyst, worker)[0],
        "let_by": "Invoice desk",
        "scopes": ["docs:read", "!docs:delete"],
        "ended": "killed",
        "case_is": "open",
        "steps": ["fetch", "report", "sum"],
        "confirmed_by": ["Auditor", "Examiner"],
        "signals": ["scope_probe", "used_after_revocation"],
        "recorded": 3,
        "probes": PROBE_REFUSALS,
    }
