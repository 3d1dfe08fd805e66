"""Large trees, and very many sessions, end in a separate process, each write all or nothing.

They end with a kill, with the suspension, revocation or expiry of an agent, a report of its key, the revocation of a
delegation, or its replacement.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import update

from attestlab.agents import lifecycle
from attestlab.agents import store as agent_store
from attestlab.agents.delegation import ending, long_ends
from attestlab.agents.delegation import store as delegation_store
from attestlab.agents.store import agents
from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from attestlab.core.encoding import format_time
from attestlab.core.errors import Unavailable
from attestlab.core.execution.long_writes import ChildCall
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller, Plan
from attestlab.server import long_write_jobs
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from support.agents import AGENTS, open_session, register_agent
from support.in_process_server import serve_in_thread, wait_until
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events
from support.timeouts import WAIT_TIMEOUT_S

WHY = {"reason": "it probes"}
DELEGATIONS = "/v1/delegations"
BEGUN, GO_ON = "long-write.begun", "long-write.go-on"
pytestmark = pytest.mark.one_world


@pytest.fixture(autouse=True)
def every_tree_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lifecycle, long_ends):
        monkeypatch.setattr(module, "MAX_ROWS_INSIDE", 0)


@pytest.fixture
def queues() -> list[WriteQueue]:
    return []


@pytest.fixture
def clients(lab: Installation, queues: list[WriteQueue]) -> Iterator[TenantClients]:
    tenant = lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab, spoil=queues.append) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def workers(queues: list[WriteQueue], clients: TenantClients) -> WorkerProcesses:
    """The process of long writes of the server."""
    return queues[0].long_writes.workers


@pytest.fixture
def outside(clients: TenantClients, monkeypatch: pytest.MonkeyPatch) -> None:
    """The services of the server itself refuse to end anything: whatever ends, ends in another process."""

    def refuse(*_arguments: object, **_named: object) -> None:
        raise AssertionError("The server ended a large tree itself.")

    for dependents in (clients.lab.agents.lifecycle.sessions, clients.lab.agents.lifecycle.delegations):
        monkeypatch.setattr(dependents, "end", refuse)
    monkeypatch.setattr(ending, "end_delegations", refuse)


def make_tree(client: httpx.Client) -> tuple[dict[str, Any], dict[str, Any]]:
    """A root with a worker, each with a session; returns the root and the delegation."""
    root = register_agent(client, scopes=["docs:*"])
    body = {"scopes": ["docs:read"], "child": {"display_name": "Worker"}}
    delegation = client.post(f"{AGENTS}/{root['id']}/delegations", json=body).raise_for_status().json()
    for agent in (root, delegation["child"]):
        open_session(client, agent)
    return root, delegation


def read_status(client: httpx.Client, agent: dict[str, Any]) -> str:
    return str(client.get(f"{AGENTS}/{agent['id']}").raise_for_status().json()["status"])


@pytest.mark.both_engines
@pytest.mark.usefixtures("outside")
def test_a_kill_ends_a_large_tree_in_another_process(
    clients: TenantClients, client: httpx.Client, keeper: Caller
) -> None:
    root, delegation = make_tree(client)
    counted = client.post(f"{AGENTS}/{root['id']}/kill", json={**WHY, "dry_run": True}).json()
    killed = client.post(f"{AGENTS}/{root['id']}/kill", json=WHY)

    assert killed.status_code == 200, killed.text
    answer = killed.json()
    assert {**answer, "agent": None, "dry_run": True} == {**counted, "agent": None}
    assert (answer["terminated_sessions"], answer["revoked_descendants"], answer["revoked_delegations"]) == (2, 1, 1)
    assert [answer["agent"]["status"], read_status(client, delegation["child"])] == ["revoked", "revoked"]
    for agent in (root, delegation["child"]):
        assert ("agent.kill", "API_KEY") in read_audit_trail(clients.lab, agent["id"])
    published = [kind for kind, _ in read_events(clients.lab, keeper)]
    assert (published.count("agent.killed"), published.count("agent.revoked")) == (1, 1)
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
@pytest.mark.usefixtures("outside")
def test_the_revocations_of_an_agent_and_of_a_delegation_end_large_trees_in_another_process(
    clients: TenantClients, client: httpx.Client
) -> None:
    root, _ = make_tree(client)
    revoked = client.post(f"{AGENTS}/{root['id']}/revoke", json=WHY)
    _, delegation = make_tree(client)
    given = client.post(f"{DELEGATIONS}/{delegation['delegation_id']}/revoke", json=WHY)

    assert (revoked.status_code, revoked.json()["status"], revoked.json()["session_count"]) == (200, "revoked", 0)
    assert given.status_code == 200, given.text
    assert (given.json()["revoked_delegations"], given.json()["terminated_sessions"]) == (1, 1)
    assert given.json()["delegation"]["status"] == "revoked"
    assert read_status(client, delegation["child"]) == "active"
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
@pytest.mark.usefixtures("outside")
def test_a_suspension_and_a_report_of_a_key_end_many_sessions_in_another_process(
    clients: TenantClients, client: httpx.Client
) -> None:
    suspended, reported = (register_agent(client) for _ in range(2))
    for agent in (suspended, reported):
        open_session(client, agent)
    answers = [
        client.post(f"{AGENTS}/{suspended['id']}/suspend", json=WHY),
        client.post(f"{AGENTS}/{reported['id']}/keys/{reported['key_id']}/compromise", json=WHY),
    ]

    assert [answer.status_code for answer in answers] == [200, 200], [answer.text for answer in answers]
    assert answers[1].json()["status"] == "compromised"
    found = [client.get(f"{AGENTS}/{each['id']}").json() for each in (suspended, reported)]
    assert [(each["status"], each["session_count"]) for each in found] == [("suspended", 0)] * 2
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
@pytest.mark.usefixtures("outside")
def test_a_delegation_replaces_an_expired_one_with_a_large_tree_in_another_process(
    clients: TenantClients, client: httpx.Client, clock: FixedClock
) -> None:
    lab, ends = clients.lab, format_time(clock.now() + timedelta(hours=1))
    first, second, child = (register_agent(client, scopes=["docs:*"]) for _ in range(3))
    body = {"scopes": ["docs:read"], "child_agent_id": child["id"]}
    expired = client.post(f"{AGENTS}/{first['id']}/delegations", json={**body, "expires_at": ends})
    below = {"scopes": ["docs:read"], "child": {"display_name": "Worker"}}
    below_expired = client.post(f"{AGENTS}/{child['id']}/delegations", json=below)
    clock.advance(timedelta(hours=2))
    headers = {"Idempotency-Key": "another-parent"}
    answers = [client.post(f"{AGENTS}/{second['id']}/delegations", json=body, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 201], answers[0].text
    assert answers[0].content == answers[1].content
    assert answers[0].headers["Location"] == f"{DELEGATIONS}/{answers[0].json()['delegation_id']}"
    ids = [UUID(each.raise_for_status().json()["delegation_id"]) for each in (expired, below_expired)]
    with lab.storage.read() as connection:
        ended = delegation_store.find_many(connection.execute, ids)
    assert [each.revoked_because for each in ended] == ["replaced"] * 2
    assert list(fsck(lab)) == []


def test_a_replacement_that_is_refused_ends_nothing(
    clients: TenantClients, client: httpx.Client, clock: FixedClock
) -> None:
    lab, ends = clients.lab, format_time(clock.now() + timedelta(hours=1))
    first, second, child = (register_agent(client, scopes=["docs:*"]) for _ in range(3))
    body = {"scopes": ["docs:read"], "child_agent_id": child["id"]}
    expired = client.post(f"{AGENTS}/{first['id']}/delegations", json={**body, "expires_at": ends}).json()
    clock.advance(timedelta(hours=2))
    past = {**body, "expires_at": format_time(clock.now() - timedelta(hours=1))}
    refused = client.post(f"{AGENTS}/{second['id']}/delegations", json=past)

    assert (refused.status_code, "/expires_at" in refused.text) == (400, True), refused.text
    with lab.storage.read() as connection:
        (kept,) = delegation_store.find_many(connection.execute, [UUID(expired["delegation_id"])])
    assert kept.revoked_because is None


def test_a_repeated_key_gets_the_first_answer_of_a_revocation(client: httpx.Client) -> None:
    root, _ = make_tree(client)
    headers = {"Idempotency-Key": "end-of-the-root"}
    answers = [client.post(f"{AGENTS}/{root['id']}/revoke", json=WHY, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content


def test_what_another_process_refuses_is_refused_as_here(client: httpx.Client) -> None:
    root, delegation = make_tree(client)
    paths = [f"{AGENTS}/{root['id']}/revoke", f"{DELEGATIONS}/{delegation['delegation_id']}/revoke"]
    first, second = [client.post(paths[0], json=WHY) for _ in range(2)]
    again = client.post(paths[1], json=WHY)

    assert first.status_code == 200
    assert [second.status_code, again.status_code] == [409, 409]
    assert "revoked" in second.json()["message"]


def test_a_dry_run_of_a_large_tree_starts_the_process(client: httpx.Client, workers: WorkerProcesses) -> None:
    root, delegation = make_tree(client)
    assert workers.list_pids() == []
    counted = client.post(f"{DELEGATIONS}/{delegation['delegation_id']}/revoke", json={**WHY, "dry_run": True})
    wait_until(lambda: len(workers.list_pids()), 1)

    assert (counted.json()["revoked_delegations"], counted.json()["dry_run"]) == (1, True)
    (pid,) = workers.list_pids()
    assert client.post(f"{AGENTS}/{root['id']}/kill", json=WHY).status_code == 200
    assert workers.list_pids() == [pid]


@pytest.mark.both_engines
def test_a_process_that_dies_changes_nothing(
    client: httpx.Client, workers: WorkerProcesses, queues: list[WriteQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, delegation = make_tree(client)
    monkeypatch.setattr(queues[0].long_writes, "_perform", _perform_and_die)
    killed = client.post(f"{AGENTS}/{root['id']}/kill", json=WHY)

    assert (killed.status_code, killed.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert [read_status(client, each) for each in (root, delegation["child"])] == ["active", "active"]
    monkeypatch.undo()


@pytest.mark.both_engines
@pytest.mark.parametrize("verb", ["kill", "revoke", "suspend", "compromise", "delegation"])
def test_a_repeated_key_gets_the_answer_of_an_end_whose_server_was_killed_before_it(
    client: httpx.Client, queues: list[WriteQueue], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The process committed; the server is gone before it stores the response."""
    root, delegation = make_tree(client)
    path = {
        "compromise": f"{AGENTS}/{root['id']}/keys/{root['key_id']}/compromise",
        "delegation": f"{DELEGATIONS}/{delegation['delegation_id']}/revoke",
    }.get(verb, f"{AGENTS}/{root['id']}/{verb}")
    headers = {"Idempotency-Key": f"the end by {verb}"}
    with monkeypatch.context() as patch:
        patch.setattr(queues[0].long_writes, "_perform", _perform_and_die_later)
        patch.setattr(queues[0], "_recall_result", _recall_nothing)
        lost = client.post(path, json=WHY, headers=headers)
    other = client.post(path, json={"reason": "another one"}, headers=headers)
    again, replayed = (client.post(path, json=WHY, headers=headers) for _ in range(2))
    without_key = client.post(path, json=WHY)

    assert lost.status_code == 503, lost.text
    assert other.status_code == 422, other.text
    assert (again.status_code, replayed.content) == (200, again.content), again.text
    assert without_key.status_code == 409, without_key.text
    if verb == "kill":
        counts = [again.json()[name] for name in ("terminated_sessions", "revoked_descendants", "revoked_delegations")]
        assert (counts, again.json()["agent"]["status"]) == ([2, 1, 1], "revoked")


@pytest.mark.both_engines
def test_a_process_that_dies_after_its_commit_costs_no_answer(
    client: httpx.Client, queues: list[WriteQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = make_tree(client)
    with monkeypatch.context() as patch:
        patch.setattr(queues[0].long_writes, "_perform", _perform_and_die_later)
        revoked = client.post(f"{AGENTS}/{root['id']}/revoke", json=WHY, headers={"Idempotency-Key": "dies late"})

    assert (revoked.status_code, revoked.json()["status"]) == (200, "revoked")


@pytest.mark.both_engines
def test_a_repeated_key_gets_the_answer_of_a_kill_inside_the_server_whose_response_was_not_stored(
    client: httpx.Client, queues: list[WriteQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "MAX_ROWS_INSIDE", 200)
    root, _ = make_tree(client)
    headers = {"Idempotency-Key": "a small kill"}
    with monkeypatch.context() as patch:
        patch.setattr(queues[0], "write", _refuse_to_write)
        lost = client.post(f"{AGENTS}/{root['id']}/kill", json=WHY, headers=headers)
    again = client.post(f"{AGENTS}/{root['id']}/kill", json=WHY, headers=headers)

    assert (lost.status_code, read_status(client, root)) == (503, "revoked")
    assert (again.status_code, again.json()["terminated_sessions"]) == (200, 2)


def test_writers_of_the_server_wait_for_a_long_write_without_a_limit(
    clients: TenantClients, client: httpx.Client, queues: list[WriteQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = make_tree(client)
    monkeypatch.setattr(queues[0].long_writes, "_perform", _perform_when_allowed)
    begun, go_on = (clients.lab.settings.data / name for name in (BEGUN, GO_ON))
    with ThreadPoolExecutor(2) as pool:
        killed = pool.submit(client.post, f"{AGENTS}/{root['id']}/kill", json=WHY)
        try:
            wait_until(begun.exists, True)  # the process has not begun to write
            can_begin = clients.lab.storage.try_begin()
            registered = pool.submit(register_agent, client)
        finally:
            go_on.touch()
        answers = killed.result(), registered.result()

    assert can_begin is None
    assert (answers[0].status_code, answers[1]["status"]) == (200, "active")
    for each in (begun, go_on):
        each.unlink()


@pytest.mark.both_engines
@pytest.mark.usefixtures("outside")
def test_an_expiry_that_ends_a_large_tree_is_stored_in_another_process(
    clients: TenantClients, client: httpx.Client, clock: FixedClock
) -> None:
    lab, ends = clients.lab, format_time(clock.now() + timedelta(hours=1))
    root = register_agent(client, scopes=["docs:*"], expires_at=ends)
    body = {"scopes": ["docs:read"], "child": {"display_name": "Worker"}}
    delegation = client.post(f"{AGENTS}/{root['id']}/delegations", json=body).raise_for_status().json()
    clock.advance(timedelta(hours=2))

    asyncio.run(sweep_until(lab, lambda: read_stored_status(lab, root) == "revoked"))
    with lab.storage.read() as connection:
        given = delegation_store.find_many(connection.execute, [UUID(delegation["delegation_id"])])
    assert [each.revoked_because for each in given] == ["expired"]
    assert list(fsck(lab)) == []


@pytest.mark.usefixtures("outside")
def test_an_agent_without_owner_and_with_many_sessions_is_suspended_in_another_process(
    clients: TenantClients, client: httpx.Client, clock: FixedClock
) -> None:
    lab, root = clients.lab, make_tree(client)[0]
    with lab.storage.write() as tx:
        tx.exec(update(agents).where(agents.c.id == UUID(root["id"])).values(owner_left_at=clock.now()))
    clock.advance(timedelta(days=31))
    open_session(client, root)

    asyncio.run(sweep_until(lab, lambda: read_stored_status(lab, root) == "suspended"))


def read_stored_status(lab: Installation, agent: dict[str, Any]) -> str:
    with lab.storage.read() as connection:
        row = agent_store.find(connection.execute, UUID(agent["id"]))
    assert row is not None
    return row.status


async def sweep_until(lab: Installation, is_over: Callable[[], bool]) -> None:
    """Sweep as a server does until something is over."""
    queue = WriteQueue(lab)
    sweeping = asyncio.create_task(queue.sweep_forever(lambda: None, every_s=0.01))
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        while not await asyncio.to_thread(is_over):
            await asyncio.sleep(0.01)
    sweeping.cancel()
    with suppress(asyncio.CancelledError):
        await sweeping
    await queue.finish()


def test_an_agent_with_few_delegations_expires_with_the_others(
    clients: TenantClients, client: httpx.Client, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "MAX_ROWS_INSIDE", 1)
    ends = format_time(clock.now() + timedelta(hours=1))
    roots = [register_agent(client, scopes=["docs:*"], expires_at=ends) for _ in range(3)]
    for root in roots[1:]:
        body = {"scopes": ["docs:read"], "child": {"display_name": "Worker"}}
        assert client.post(f"{AGENTS}/{root['id']}/delegations", json=body).status_code == 201
    clock.advance(timedelta(hours=2))

    left = []
    for _ in range(4):
        with clients.lab.storage.write() as tx:
            has_more = clients.lab.agents.expire(tx, at_most=100)
        with clients.lab.storage.read() as connection:
            overdue = agent_store.find_overdue(connection.execute, now=clock.now(), limit=100)
        left.append((has_more, len(overdue)))
        if not has_more:
            break
    assert left[-1] == (False, 0)
    assert len(left) > 1, "one batch ended more delegations than the limit"


def _perform_and_die(settings: Settings, call: ChildCall) -> object:
    """Run the verb, and die by SIGKILL just before its commit."""
    Storage.commit = lambda _self, _tx: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    return long_write_jobs.perform(settings, call)


def _perform_when_allowed(settings: Settings, call: ChildCall) -> object:
    """Run the verb once a file allows it."""
    (settings.data / BEGUN).touch()
    wait_until((settings.data / GO_ON).exists, True)
    return long_write_jobs.perform(settings, call)


def _perform_and_die_later(settings: Settings, call: ChildCall) -> object:
    """Run the verb, and die by SIGKILL after its commit, before the server hears of it."""
    long_write_jobs.perform(settings, call)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


async def _recall_nothing(_key: object) -> None:
    """Find no result, as a server that is gone."""


async def _refuse_to_write(*_arguments: object) -> None:
    raise Unavailable("The server is gone.")
