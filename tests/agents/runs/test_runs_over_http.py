"""Runs over HTTP: started, recorded by their agents with managed and own keys, refused, ended once."""

from __future__ import annotations

import base64
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, KeyHolder, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type
from support.runs import (
    ROW,
    RUNS,
    complete,
    complete_run,
    digest,
    record_row,
    record_step,
    sign_step,
    start_run,
)

pytestmark = pytest.mark.one_world
DIAMOND = {
    "steps": [
        {"id": "a", "type": "fetch"},
        {"id": "b", "type": "parse", "depends_on": ["a"]},
        {"id": "c", "type": "parse", "depends_on": ["a"]},
        {"id": "d", "type": "sum", "depends_on": ["c", "b"]},
    ]
}


def read_ends(lab: Installation, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that say how a run ended."""
    events = read_events_of_type(lab, "run.completed")
    return [event for event in events if event["orchestration_id"] == run["orchestration_id"]]


def read_entry(client: httpx.Client, index: int) -> dict[str, Any]:
    """An entry of the public log."""
    (item,) = client.get("/v1/log/entries", params={"start": index, "limit": 1}).json()["items"]
    entry: dict[str, Any] = json.loads(base64.b64decode(item["entry_b64"]))
    return entry


def compute_hash(run: dict[str, Any]) -> str:
    """Compute a run's hash from what its route returned, with the standard library alone."""
    names = ("step_id", "agent_id", "inputs_hash", "outputs_hash", "status")
    steps = [{name: step[name] for name in names} for step in run["steps"] if step["status"] != "open"]
    content = {name: run[name] for name in ("orchestration_id", "agent_id", "plan", "status")}
    text = json.dumps({"v": 1, **content, "steps": steps}, sort_keys=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def delegate(client: httpx.Client, parent: dict[str, Any]) -> dict[str, Any]:
    """Delegate to a new child; returns the delegation."""
    body = {"scopes": ["docs:read"], "child": {"display_name": "Child"}}
    given: dict[str, Any] = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body).json()
    return given


def reason_of(answer: httpx.Response) -> tuple[int, str | None]:
    """The status of a refusal, and its reason."""
    return answer.status_code, answer.json()["details"].get("reason")


def fields_of(answer: httpx.Response) -> list[tuple[str, str]]:
    """The fields that a refusal names, each with its code."""
    assert answer.status_code == 400, answer.text
    return [(each["field"], each["code"]) for each in answer.json()["details"]["fields"]]


@pytest.mark.both_engines
def test_a_run_whose_steps_chain_ends_as_an_entry_of_the_log(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    body = {"agent_id": agent["agent_id"], "name": "Invoices", "plan": DIAMOND, "metadata": {"month": "2026-11"}}
    answer = client.post(RUNS, json=body)
    run = answer.json()
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"{RUNS}/{run['orchestration_id']}"
    assert (run["status"], run["chain_ok"], run["run_hash"], run["recorded_steps"]) == ("running", True, None, 0)
    assert [step["status"] for step in run["steps"]] == ["open"] * 4

    both = digest("\n".join([digest("c"), digest("b")]))
    for step_id, inputs in (("a", digest("start")), ("c", digest("a")), ("b", digest("a")), ("d", both)):
        recorded = record_step(client, run, step_id, inputs_hash=inputs, latency_ms=12)
        assert (recorded.status_code, recorded.json()["chain_ok"]) == (201, True)
    ended = complete(client, run).json()

    assert (ended["status"], ended["chain_ok"], ended["recorded_steps"]) == ("completed", True, 4)
    assert ended == client.get(f"{RUNS}/{run['orchestration_id']}").json()
    assert ended["run_hash"] == compute_hash(ended)
    assert [step["latency_ms"] for step in ended["steps"]] == [12] * 4
    entry = read_entry(client, ended["log_index"])
    stated = (entry["type"], entry["orchestration_id"], entry["status"], entry["run_hash"])
    assert stated == ("run.completed", run["orchestration_id"], "completed", ended["run_hash"])
    (event,) = read_ends(clients.lab, run)
    assert (event["status"], event["chain_ok"], event["log_index"]) == ("completed", True, ended["log_index"])
    trail = [action for action, _ in read_audit_trail(clients.lab, run["orchestration_id"])]
    assert trail == ["run.start", *["run.count"] * 4, "run.complete"]
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
def test_inputs_that_no_dependency_put_out_are_recorded_and_shown(client: httpx.Client, clients: TenantClients) -> None:
    run = start_run(client)
    record_step(client, run, "read")

    broken = record_step(client, run, "sum", inputs_hash=digest("something else")).json()
    ended = complete(client, run).json()

    assert (broken["chain_ok"], ended["chain_ok"], ended["status"]) == (False, False, "completed")
    assert [step["chain_ok"] for step in ended["steps"]] == [True, False]
    assert [event["chain_ok"] for event in read_ends(clients.lab, run)] == [False]
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
def test_a_step_is_recorded_once_and_after_its_dependencies(client: httpx.Client) -> None:
    run = start_run(client)

    early = record_step(client, run, "sum")
    record_step(client, run, "read")
    twice = record_step(client, run, "read", outputs_hash=digest("better"))
    unknown = record_step(client, run, "write")

    assert reason_of(early) == (409, "dependency_open")
    assert early.json()["details"]["open"] == ["read"]
    assert reason_of(twice) == (409, "already_recorded")
    assert fields_of(unknown) == [("/step_id", "unknown_step")]
    shown = client.get(f"{RUNS}/{run['orchestration_id']}").json()
    assert [step["outputs_hash"] for step in shown["steps"]] == [digest("read"), None]


@pytest.mark.both_engines
def test_the_same_step_fifty_times_at_once_is_recorded_once(client: httpx.Client, clients: TenantClients) -> None:
    run = start_run(client)

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda i: record_step(client, run, "read", outputs_hash=digest(str(i))), range(50)))

    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 49
    assert client.get(f"{RUNS}/{run['orchestration_id']}").json()["recorded_steps"] == 1
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
def test_a_run_that_fifty_complete_at_once_ends_once(client: httpx.Client, clients: TenantClients) -> None:
    run = start_run(client)
    record_row(client, run)

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: complete(client, run), range(50)))

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 49
    assert len(read_ends(clients.lab, run)) == 1
    assert list(fsck(clients.lab)) == []


def test_with_open_steps_a_run_fails_or_is_canceled_but_does_not_complete(client: httpx.Client) -> None:
    failed, canceled = start_run(client), start_run(client)
    record_step(client, failed, "read", status="failed")

    refused = complete(client, failed)
    ends = [complete(client, run, status=end) for run, end in ((failed, "failed"), (canceled, "canceled"))]

    assert reason_of(refused) == (409, "steps_open")
    assert refused.json()["details"]["open"] == ["sum"]
    assert [end.json()["status"] for end in ends] == ["failed", "canceled"]
    assert [step["status"] for step in ends[0].json()["steps"]] == ["failed", "open"]
    assert [end.json()["run_hash"] for end in ends] == [compute_hash(end.json()) for end in ends]


def test_nothing_of_a_run_changes_after_its_end(client: httpx.Client) -> None:
    ended, canceled = complete_run(client), start_run(client)
    complete(client, canceled, status="canceled")

    late = record_step(client, canceled, "read")
    again = complete(client, ended, status="failed")

    assert reason_of(late) == (409, "ended")
    assert (reason_of(again), again.json()["details"]["status"]) == ((409, "ended"), "completed")
    assert client.get(f"{RUNS}/{ended['orchestration_id']}").json() == ended


@pytest.mark.both_engines
def test_the_agents_below_the_runs_agent_record_its_steps_and_no_others(client: httpx.Client) -> None:
    parent = register_agent(client, scopes=["docs:read"])
    own_child = register_agent(client, scopes=["docs:read"])
    body = {"scopes": ["docs:read"], "child_agent_id": own_child["id"]}
    given = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body).json()
    child, stranger = given["child"], register_agent(client)
    run, of_child = start_run(client, parent), start_run(client, child)

    by_child = record_step(client, run, "read", agent_id=child["id"])
    by_stranger = record_step(client, run, "sum", agent_id=stranger["id"])
    by_parent = record_step(client, of_child, "read", agent_id=parent["agent_id"])
    client.post(f"/v1/delegations/{given['delegation_id']}/revoke", json={"reason": "done"})
    afterwards = record_step(client, run, "sum", agent_id=child["id"])

    assert (by_child.status_code, by_child.json()["agent_id"]) == (201, child["id"])
    assert [reason_of(each) for each in (by_stranger, by_parent, afterwards)] == [(403, "not_of_run")] * 3


def test_without_an_agent_the_planned_one_or_the_runs_records(client: httpx.Client) -> None:
    parent = register_agent(client, scopes=["docs:read"])
    child = delegate(client, parent)["child"]
    plan = {"steps": [{"id": "read", "type": "fetch", "agent_id": child["agent_id"]}, {"id": "sum", "type": "compute"}]}
    run = start_run(client, parent, plan=plan)

    recorders = [record_step(client, run, step_id).json()["agent_id"] for step_id in ("read", "sum")]

    assert run["plan"]["steps"][0]["agent_id"] == run["steps"][0]["agent_id"] == child["id"]
    assert recorders == [child["id"], parent["id"]]


def test_an_agents_own_session_records_its_own_steps_without_any_scope(
    client: httpx.Client, clients: TenantClients
) -> None:
    parent = register_agent(client, scopes=["docs:read"])
    child = delegate(client, parent)["child"]
    run, session = start_run(client, parent), open_session(client, child)

    with make_client(clients.url, token=session["token"]) as own:
        for_another = record_step(own, run, "read", agent_id=parent["id"])
        for_itself = record_step(own, run, "read")
        others = [own.post(RUNS, json={}), own.get(RUNS), complete(own, run)]

    assert reason_of(for_another) == (403, "another_agent")
    assert (for_itself.status_code, for_itself.json()["agent_id"]) == (201, child["id"])
    assert [each.status_code for each in others] == [403] * 3


def test_an_agent_with_the_scope_starts_and_completes_its_own_runs_alone(
    client: httpx.Client, clients: TenantClients
) -> None:
    agent, other = register_agent(client, scopes=["agents:write"]), register_agent(client)
    others_run, session = start_run(client, other), open_session(client, agent)

    with make_client(clients.url, token=session["token"]) as own:
        run = start_run(own, agent)
        record_row(own, run)
        ended = complete(own, run)
        refused = [
            complete(own, others_run, status="canceled"),
            own.post(RUNS, json={"agent_id": other["id"], "name": "Theirs", "plan": ROW}),
        ]

    assert ended.json()["status"] == "completed"
    assert [reason_of(each) for each in refused] == [(403, "another_agent")] * 2


@pytest.mark.both_engines
def test_the_holder_of_an_own_key_signs_its_step(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    run = start_run(client, register_agent(client, **holder.prove(client)))

    asked = record_step(client, run, "read")
    token = sign_step(asked, holder)
    recorded = record_step(client, run, "read", signature=token)

    assert fields_of(asked) == [("/signature", "signature_required")]
    assert (recorded.status_code, recorded.json()["jws"]) == (201, token)
    assert list(fsck(clients.lab)) == []


FAULTS = ("another key", "another step", "another outcome", "another run", "old", "padded", "nothing", "not ASCII")


@pytest.mark.parametrize("fault", FAULTS)
def test_another_signature_than_of_this_step_is_refused(client: httpx.Client, clock: FixedClock, fault: str) -> None:
    holder, fields = KeyHolder(), dict[str, Any]()
    agent = register_agent(client, **holder.prove(client))
    plan = {"steps": [{"id": "read", "type": "fetch"}, {"id": "other", "type": "fetch"}]}
    run, step_id = start_run(client, agent, plan=plan), "read"
    asked = record_step(client, run, "read")
    token = sign_step(asked, holder)
    match fault:
        case "another key":
            token = sign_step(asked, KeyHolder())
        case "another step":
            step_id, fields["outputs_hash"] = "other", digest("read")
        case "another outcome":
            fields["status"] = "failed"
        case "another run":
            run = start_run(client, agent, plan=plan)
        case "old":
            clock.advance(timedelta(minutes=5, seconds=1))
        case "padded":
            token += "=="
        case "nothing":
            token = "."
        case "not ASCII":
            token = "ä.ö.ü"

    refused = record_step(client, run, step_id, **fields, signature=token)

    assert fields_of(refused) == [("/signature", "not_recent" if fault == "old" else "signature_invalid")]
    assert client.get(f"{RUNS}/{run['orchestration_id']}").json()["recorded_steps"] == 0


def test_a_managed_key_takes_no_signature(client: httpx.Client) -> None:
    refused = record_step(client, start_run(client), "read", signature="a.b.c")

    assert fields_of(refused) == [("/signature", "external_only")]


def test_a_suspended_agent_neither_starts_nor_records_but_its_run_can_be_ended(client: httpx.Client) -> None:
    agent = register_agent(client)
    run = start_run(client, agent)
    client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "a test"})

    refused = [
        client.post(RUNS, json={"agent_id": agent["id"], "name": "Another", "plan": ROW}),
        record_step(client, run, "read"),
    ]
    ended = complete(client, run, status="canceled")

    for answer in refused:
        assert (answer.status_code, answer.json()["details"]["status"]) == (409, "suspended")
    assert ended.json()["status"] == "canceled"


def test_a_step_after_a_rotation_names_the_new_key(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    run = start_run(client, agent)
    record_step(client, run, "read")
    rotated = client.post(f"{AGENTS}/{agent['id']}/keys/rotate").json()
    record_step(client, run, "sum")

    kids = [step["kid"] for step in client.get(f"{RUNS}/{run['orchestration_id']}").json()["steps"]]
    assert kids == [rotated["old_key"]["kid"], rotated["new_key"]["kid"]]
    assert list(fsck(clients.lab)) == []


def test_another_tenants_run_and_agents_are_unknown(client: httpx.Client, clients: TenantClients) -> None:
    run, agent = start_run(client), register_agent(client)
    stranger = clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)
    named = {"steps": [{"id": "read", "type": "fetch", "agent_id": agent["id"]}]}

    with clients.with_key(tenant=stranger) as theirs:
        their_agent = register_agent(theirs)
        theirs_made = start_run(theirs, their_agent)
        answers = [
            theirs.get(f"{RUNS}/{run['orchestration_id']}"),
            record_step(theirs, run, "read"),
            complete(theirs, run),
            record_step(theirs, theirs_made, "read", agent_id=agent["id"]),
            theirs.post(RUNS, json={"agent_id": agent["id"], "name": "Theirs", "plan": ROW}),
            theirs.post(RUNS, json={"agent_id": their_agent["id"], "name": "Theirs", "plan": named}),
        ]
        listed = theirs.get(RUNS).json()["items"]

    assert [answer.status_code for answer in answers] == [404] * 6
    assert [each["orchestration_id"] for each in listed] == [theirs_made["orchestration_id"]]


def test_a_key_without_the_scope_records_nothing(client: httpx.Client, clients: TenantClients) -> None:
    run = start_run(client)
    with clients.with_key(Scope.AGENTS_READ) as reader:
        refused = record_step(reader, run, "read")

    assert refused.status_code == 403


def test_runs_are_listed_by_page_agent_and_status(client: httpx.Client, clock: FixedClock) -> None:
    agent, made = register_agent(client), []
    for each in (agent, None, agent):
        made.append(start_run(client, each)["orchestration_id"])
        clock.advance(timedelta(seconds=1))
    complete(client, {"orchestration_id": made[2]}, status="canceled")

    first = client.get(RUNS, params={"limit": 2}).json()
    rest = client.get(RUNS, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    own = client.get(RUNS, params={"agent_id": agent["id"]}).json()["items"]
    running = client.get(RUNS, params={"agent_id": agent["id"], "status": "running"}).json()["items"]

    assert [each["orchestration_id"] for each in (*first["items"], *rest["items"])] == made[::-1]
    assert [each["orchestration_id"] for each in own] == [made[2], made[0]]
    assert [each["orchestration_id"] for each in running] == [made[0]]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"plan": {"steps": []}}, "/plan/steps"),
        ({"plan": {"steps": [{"id": f"s{i}", "type": "fetch"} for i in range(101)]}}, "/plan/steps"),
        ({"plan": {"steps": [{"id": "a b", "type": "fetch"}]}}, "/plan/steps/0/id"),
        ({"plan": {"steps": [{"id": "a\n", "type": "fetch"}]}}, "/plan/steps/0/id"),
        ({"plan": {"steps": [{"id": "a", "type": "Fetch"}]}}, "/plan/steps/0/type"),
        ({"plan": {"steps": [{"id": "a", "type": "fetch", "depends_on": ["b"]}]}}, "/plan/steps/0/depends_on/0"),
        ({"plan": {"steps": [{"id": "a", "type": "fetch", "depends_on": ["a"]}]}}, "/plan/steps"),
        ({"plan": {"steps": [{"id": "a", "type": "fetch"}] * 2}}, "/plan/steps/1/id"),
        ({"name": ""}, "/name"),
        ({"metadata": {"text": "x" * 16_400}}, "/metadata"),
        ({"status": "running"}, "/status"),
    ],
    ids=["none", "101", "blank", "line-end", "type", "unknown", "cycle", "twice", "name", "metadata", "more"],
)
def test_a_run_that_cannot_be_started_names_the_field(client: httpx.Client, fields: dict[str, Any], place: str) -> None:
    agent = register_agent(client)

    refused = client.post(RUNS, json={"agent_id": agent["id"], "name": "Invoices", "plan": ROW, **fields})

    assert [field for field, _ in fields_of(refused)] == [place]
    assert client.get(RUNS, params={"agent_id": agent["id"]}).json()["items"] == []
