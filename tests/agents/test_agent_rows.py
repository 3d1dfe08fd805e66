"""The data sets of agents: what an agent is, who let it, its sessions, and the joins with audit trail and signals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import httpx
import pytest

from attestlab.agents.runs import lake_rows as run_rows
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, SESSIONS, make_delegation, open_session, register_agent
from support.compliance import check_agent
from support.orgs import TenantClients
from support.runs import ROW, RUNS, complete, complete_run, digest, record_step, start_run
from support.votes import get_consensus, request_votes, vote

DEEDS = """
SELECT agents.display_name AS name, audit.action AS action, audit.metadata AS metadata
FROM audit JOIN agents ON audit.actor_id = agents.id WHERE audit.actor_type = 'AGENT'
"""
WARNINGS = "SELECT agents.id AS id, signal_type FROM signals JOIN agents ON signals.entity_id = agents.agent_id"


def name_rows(answer: httpx.Response) -> list[dict[str, Any]]:
    """The rows of an answer by the names of their columns."""
    assert answer.status_code == 200, answer.text
    body = answer.json()
    names = [column["name"] for column in body["columns"]]
    return [dict(zip(names, row, strict=True)) for row in body["rows"]]


def read_rows(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    return name_rows(client.get(f"/v1/lake/datasets/{name}"))


def ask(client: httpx.Client, sql: str) -> list[dict[str, Any]]:
    return name_rows(client.post("/v1/lake/query", json={"sql": sql}))


@pytest.mark.both_engines
def test_the_rows_say_what_the_routes_say(client: httpx.Client) -> None:
    made = make_delegation(client)
    session = open_session(client, made["child"], scopes=["docs:read"])["session"]
    client.post(f"/v1/delegations/{made['delegation_id']}/revoke", json={"reason": "over"})

    agents = {row["id"]: row for row in read_rows(client, "agents")}
    (ended,) = read_rows(client, "agent_sessions")
    (delegation,) = read_rows(client, "delegations")

    for row in agents.values():
        shown = client.get(f"{AGENTS}/{row['id']}").json()
        same = row.keys() & shown.keys() - {"created_at", "updated_at", "expires_at"}
        assert {name: row[name] for name in same} == {name: shown[name] for name in same}
    assert (ended["id"], ended["scopes"], ended["ended_because"]) == (session["id"], ["docs:read"], "delegation")
    assert (delegation["parent_agent_id"], delegation["child_agent_id"]) == (
        made["parent_agent_id"],
        made["child"]["id"],
    )
    assert (delegation["scopes"], delegation["log_index"]) == (["docs:read"], made["log_index"])
    assert delegation["revoked_index"] > delegation["log_index"]
    assert not {"hop", "token_sha256", "description", "extra"} & {*ended, *delegation, *next(iter(agents.values()))}


JUDGED = """
SELECT agents.display_name AS name, count(*) AS votes, count(*) FILTER (witness_votes.verdict = 'deny') AS denies
FROM witness_votes JOIN agents ON agents.id = witness_votes.originator_agent_id
JOIN audit ON audit.resource_id = witness_votes.id AND audit.action = 'witness_vote.create' GROUP BY ALL
"""


@pytest.mark.both_engines
def test_the_rows_of_votes_say_what_the_consensus_says(client: httpx.Client, clients: TenantClients) -> None:
    originator = register_agent(client, display_name="Reader of meters")
    made = request_votes(client, originator, required_witnesses=1)
    vote(client, made, register_agent(client), verdict="abstain", confidence=0.25, evidence="too dark")
    vote(client, made, register_agent(client), verdict="deny")

    rows = {row["id"]: row for row in read_rows(client, "witness_votes")}
    consensus = get_consensus(client, made)
    assert len(rows) == len(consensus["votes"]) == 2
    for shown in consensus["votes"]:
        row = rows[shown["vote_id"]]
        said = ("agent_id", "verdict", "confidence", "kid")
        assert {name: row[name] for name in said} == {name: shown[name] for name in said}
        assert (row["request_id"], row["originator_agent_id"]) == (made["request_id"], originator["id"])
        assert (row["request_status"], row["required_votes"]) == ("denied", 1)
        assert {name: row[name] for name in made["claim"]} == made["claim"]
        assert not {"jws", "evidence"} & row.keys()
    assert ask(client, JUDGED) == [{"name": "Reader of meters", "votes": 2, "denies": 1}]


RECORDED = """
SELECT agents.display_name AS name, run_steps.step_id AS step, log_entries.type AS log, audit.action AS action
FROM run_steps JOIN agents ON agents.id = run_steps.agent_id
LEFT JOIN log_entries ON log_entries.log_index = run_steps.log_index
JOIN audit ON audit.resource_id = run_steps.id ORDER BY position
"""
OF_RUN = {"orchestration_id", "planned_steps", "recorded_steps", "log_index"}


@pytest.mark.both_engines
def test_the_rows_of_steps_say_what_the_run_says(client: httpx.Client) -> None:
    made = make_delegation(client)
    boss = client.get(f"{AGENTS}/{made['parent_agent_id']}").json()
    plan = {"steps": [{"id": "read", "type": "fetch", "agent_id": made["child"]["id"]}, ROW["steps"][1]]}
    run = start_run(client, boss, plan=plan)
    record_step(client, run, "read", latency_ms=40)

    (open_yet,) = read_rows(client, "run_steps")
    assert (open_yet["run_status"], open_yet["planned_steps"], open_yet["recorded_steps"]) == ("running", 2, 1)
    assert (open_yet["log_index"], open_yet["latency_ms"]) == (None, 40)

    record_step(client, run, "sum", inputs_hash=digest("another text"), status="failed")
    complete(client, run, status="failed")
    shown = client.get(f"{RUNS}/{run['orchestration_id']}").json()
    rows = {row["step_id"]: row for row in read_rows(client, "run_steps")}
    assert len(rows) == len(shown["steps"]) == 2
    for position, step in enumerate(shown["steps"]):
        row = rows[step["step_id"]]
        same = step.keys() - {"jws", "recorded_at"}
        assert {name: row[name] for name in same} == {name: step[name] for name in same}
        assert {name: row[name] for name in OF_RUN} == {name: shown[name] for name in OF_RUN}
        assert (row["run_name"], row["run_status"], row["position"]) == (shown["name"], "failed", position)
        assert (row["run_agent_id"], "jws" in row) == (boss["id"], False)
    assert (rows["read"]["planned_agent_id"], rows["sum"]["planned_agent_id"]) == (made["child"]["id"], None)
    assert [rows[name]["chain_ok"] for name in ("read", "sum")] == [True, False]
    logged = {"log": "run.completed", "action": "run_step.record"}
    names = (made["child"]["display_name"], boss["display_name"])
    assert ask(client, RECORDED) == [
        {"name": name, "step": step, **logged} for name, step in zip(names, ("read", "sum"), strict=True)
    ]


@pytest.mark.both_engines
def test_steps_of_more_runs_than_one_fetch_are_each_read_once(
    lab: Installation, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_rows, "RUNS_PER_FETCH", 2)
    agent = register_agent(client)
    begun = [complete_run(client, agent)["orchestration_id"] for _ in range(3)]
    start_run(client, agent)

    with lab.storage.read() as connection:
        found = [*run_rows.select_run_steps(connection, UUID(agent["tenant_id"]))]
    assert [(str(row.orchestration_id), row.step_id) for row in found] == [
        (run, step) for run in sorted(begun) for step in ("read", "sum")
    ]


def test_what_an_agent_did_joins_the_audit_trail_and_its_signals(clients: TenantClients, client: httpx.Client) -> None:
    agent = make_delegation(client)["child"]
    opened = open_session(client, agent)
    refresh = f"{SESSIONS}/{opened['session']['id']}/refresh"
    for _ in range(2):  # the second use is a thief's
        client.post(refresh, json={"refresh_token": opened["refresh_token"]})

    assert ask(client, WARNINGS) == [{"id": agent["id"], "signal_type": "refresh_reuse"}]
    assert {row["name"] for row in ask(client, DEEDS)} == {agent["display_name"]}


def test_another_tenant_and_a_caller_without_the_scope_see_none(
    lab: Installation, clients: TenantClients, client: httpx.Client
) -> None:
    made = make_delegation(client)
    open_session(client, made["child"])
    complete_run(client, made["child"])
    other = lab.orgs.create_tenant("Other Robots", plan=Plan.ENTERPRISE)

    with clients.with_key(tenant=other) as stranger, clients.with_key(Scope.ISSUERS_READ) as reader:
        for name in ("agents", "agent_sessions", "delegations", "run_steps"):
            assert read_rows(stranger, name) == []
            assert reader.get(f"/v1/lake/datasets/{name}").status_code == 403


def test_the_log_of_suspended_agents_and_ended_runs_is_a_data_set(client: httpx.Client) -> None:
    """Each status that an entry can have is one of the column's."""
    agent = make_delegation(client)["child"]
    client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "a test"})
    run = complete_run(client)

    rows = {(row["type"], row["status"]): row for row in read_rows(client, "log_entries")}

    assert rows["run.completed", "completed"]["log_index"] == run["log_index"]
    assert ("agent.status", "suspended") in rows


@pytest.mark.both_engines
def test_findings_are_the_answers_of_the_checks(client: httpx.Client) -> None:
    agent = register_agent(client, scopes=["docs:*"])
    check = check_agent(client, agent, regulation="GDPR")

    rows = {row["id"]: row for row in read_rows(client, "compliance_findings")}
    assert len(rows) == len(check["findings"])
    for finding in check["findings"]:
        row = rows[finding.pop("finding_id")]
        assert {name: row[name] for name in finding} == finding
        assert (row["check_id"], row["check_status"], row["regulation"]) == (check["check_id"], "failed", "GDPR")
        assert (row["entity_type"], row["entity_id"]) == ("agent", agent["id"])
    (row,) = [row for row in read_rows(client, "agents") if row["id"] == agent["id"]]
    assert row["trust_score"] == client.get(f"{AGENTS}/{agent['id']}").json()["trust_score"] != 0.5
