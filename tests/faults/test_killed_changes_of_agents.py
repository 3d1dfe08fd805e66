"""A process that is killed while it kills, rotates, refreshes or completes leaves all parts of the change, or none.

On SQLite the full form kills in 82 rounds: a kill 24 times, a rotation 27, a refresh 12 and a completion 19. On
PostgreSQL it kills in 75: 22, 25, 11 and 17 times.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import ColumnElement, Table, func, select

from attestlab.agents.delegation.store import delegations
from attestlab.agents.runs.store import runs
from attestlab.agents.sessions.store import refresh_tokens, sessions
from attestlab.agents.store import agents, keys
from attestlab.installation import Installation
from attestlab.log.store import leaves
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated
from support.agents import AGENTS, open_session, register_agent
from support.faults.killed_changes import kill_before, list_outcomes
from support.fork_server import ForkServer
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients
from support.outbox import read_events
from support.runs import record_row, start_run

STEP = 8  # the bounded form leaves out the statements between; the full form kills before each
pytestmark = pytest.mark.both_engines


@pytest.fixture
def step(is_long: bool) -> int:
    return 1 if is_long else STEP


@pytest.fixture
def tenant(lab: Installation) -> TenantCreated:
    return lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)


@pytest.fixture
def tenant_id(tenant: TenantCreated) -> UUID:
    return tenant.tenant_id


@pytest.fixture
def made(lab: Installation, tenant: TenantCreated) -> dict[str, Any]:
    """What a served installation has of the tenant's agents; the server has stopped."""
    with serve_in_thread(lab) as url, TenantClients(lab, url, tenant).with_key() as client:
        return make_tree(client)


def make_tree(client: httpx.Client) -> dict[str, Any]:
    """A root with a worker below it, a session of each, and a run of the root whose steps are recorded."""
    root = register_agent(client, scopes=["docs:*"])
    body = {"scopes": ["docs:read"], "child": {"display_name": "Worker"}}
    worker = client.post(f"{AGENTS}/{root['id']}/delegations", json=body).json()["child"]
    run = start_run(client, root)
    record_row(client, run)
    return {"root": root, "run": run, "opened": [open_session(client, each) for each in (root, worker)]}


@pytest.fixture
def kill_during(
    lab: Installation, fork_server: ForkServer, tenant_id: UUID, tmp_path: Path
) -> Callable[..., Callable[[int], None]]:
    """Make what kills a change of an agent, a session or a run before a statement."""

    def prepare(change: str, **subject: str) -> Callable[[int], None]:
        def kill(statement: int) -> None:
            kill_before(
                *(fork_server, lab, change, statement),
                tenant_id=tenant_id,
                issuer_id=None,
                out=tmp_path / "out",
                subject=subject,
            )

        return kill

    return prepare


def count(lab: Installation, table: Table, *where: ColumnElement[bool]) -> int:
    with lab.storage.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table).where(*where)).scalar_one())


def count_events(lab: Installation, tenant_id: UUID, kind: str) -> int:
    published = read_events(lab, lab.orgs.service_caller(tenant_id))
    return [name for name, _ in published].count(kind)


def test_a_kill_ends_the_whole_tree_or_nothing(
    lab: Installation, tenant_id: UUID, made: dict[str, Any], kill_during: Any, step: int
) -> None:
    before = count(lab, leaves)

    def find_parts() -> tuple[int, ...]:
        return (
            count(lab, agents, agents.c.status == "revoked"),
            count(lab, sessions, sessions.c.ended_at.is_not(None)),
            count(lab, delegations, delegations.c.revoked_at.is_not(None)),
            count_events(lab, tenant_id, "agent.killed"),
            count(lab, leaves) - before,
        )

    outcomes = list_outcomes(kill_during("kill an agent", id=made["root"]["id"]), find_parts, lab, step)

    assert set(outcomes) == {(0,) * 5, (2, 2, 1, 1, 3)}


def test_a_rotation_has_both_keys_and_their_entries_or_neither(
    lab: Installation, tenant_id: UUID, made: dict[str, Any], kill_during: Any, step: int
) -> None:
    before, root = count(lab, leaves), UUID(made["root"]["id"])

    def find_parts() -> tuple[int, ...]:
        return (
            count(lab, keys, keys.c.agent_id == root, keys.c.status == "rotated"),
            count(lab, keys, keys.c.agent_id == root, keys.c.status == "active"),
            count(lab, agents, agents.c.id == root, agents.c.key_id != made["root"]["key_id"]),
            count_events(lab, tenant_id, "agent.key_rotated"),
            count(lab, leaves) - before,
        )

    outcomes = list_outcomes(kill_during("rotate a key", id=made["root"]["id"]), find_parts, lab, step)

    assert set(outcomes) == {(0, 1, 0, 0, 0), (1, 1, 1, 1, 2)}


def test_a_refresh_uses_up_a_token_and_gives_the_next_or_neither(
    lab: Installation, made: dict[str, Any], kill_during: Any, step: int
) -> None:
    session, token = UUID(made["opened"][0]["session"]["id"]), made["opened"][0]["refresh_token"]
    of_session = refresh_tokens.c.session_id == session
    with lab.storage.read() as connection:
        begun = connection.execute(select(sessions.c.token_sha256).where(sessions.c.id == session)).scalar_one()

    def find_parts() -> tuple[int, ...]:
        return (
            count(lab, refresh_tokens, of_session, refresh_tokens.c.used_at.is_not(None)),
            count(lab, refresh_tokens, of_session),
            count(lab, sessions, sessions.c.id == session, sessions.c.token_sha256 != begun),
            count(lab, sessions, sessions.c.ended_at.is_not(None)),
        )

    kill = kill_during("refresh a session", id=str(session), refresh_token=token)
    outcomes = list_outcomes(kill, find_parts, lab, step)

    assert set(outcomes) == {(0, 1, 0, 0), (1, 2, 1, 0)}


def test_a_run_ends_with_its_entry_and_its_event_or_goes_on(
    lab: Installation, tenant_id: UUID, made: dict[str, Any], kill_during: Any, step: int
) -> None:
    before, run = count(lab, leaves), UUID(made["run"]["orchestration_id"])

    def find_parts() -> tuple[int, ...]:
        return (
            count(lab, runs, runs.c.id == run, runs.c.status == "completed", runs.c.run_hash.is_not(None)),
            count_events(lab, tenant_id, "run.completed"),
            count(lab, leaves) - before,
        )

    outcomes = list_outcomes(kill_during("complete a run", id=str(run)), find_parts, lab, step)

    assert set(outcomes) == {(0, 0, 0), (1, 1, 1)}
