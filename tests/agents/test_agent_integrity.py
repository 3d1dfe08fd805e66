"""fsck and followers know agents: each test makes one change behind the service's back, which they find."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import delete, select, update

from attestlab.agents.store import agents, keys
from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.log import agent_entries, entries
from attestlab.log.entries import EntryType, Link
from attestlab.log.follower.auditor import BrokenStatusChain
from attestlab.log.follower.follower import Alarm
from support.agents import AGENTS, register_agent
from support.lab_checks import make_follower
from support.orgs import TenantClients

pytestmark = pytest.mark.tampered


def find_problems(lab: Installation) -> set[tuple[str, str]]:
    return {(problem.kind, problem.where) for problem in fsck(lab)}


@pytest.mark.parametrize("values", [{"status": "suspended"}, {"scopes": "docs:*"}, {"delegation_depth": 3}])
def test_fsck_finds_a_changed_agent(client: httpx.Client, clients: TenantClients, values: dict[str, Any]) -> None:
    agent = register_agent(client)
    with clients.lab.storage.engine.begin() as connection:
        connection.execute(update(agents).where(agents.c.id == UUID(agent["id"])).values(**values))

    assert ("agent", agent["id"]) in find_problems(clients.lab)


def test_fsck_finds_an_agent_that_was_resumed_in_the_row_alone(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    client.post(f"{AGENTS}/{agent['id']}/revoke", json={"reason": "a test"})
    with clients.lab.storage.engine.begin() as connection:
        connection.execute(update(agents).where(agents.c.id == UUID(agent["id"])).values(status="active"))

    messages = {problem.message for problem in fsck(clients.lab) if problem.where == agent["id"]}

    assert "the row differs from the log in status" in messages


def test_fsck_finds_a_sealed_key_of_another_agent(client: httpx.Client, clients: TenantClients) -> None:
    first, second = register_agent(client), register_agent(client)
    with clients.lab.storage.engine.begin() as connection:
        sealed = connection.execute(select(keys.c.sealed).where(keys.c.kid == second["key_id"])).scalar_one()
        connection.execute(update(keys).where(keys.c.kid == first["key_id"]).values(sealed=sealed))

    assert {("key", first["key_id"]), ("agent_key", first["key_id"])} <= find_problems(clients.lab)


def test_fsck_finds_a_missing_key(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    with clients.lab.storage.engine.begin() as connection:
        connection.execute(delete(keys).where(keys.c.kid == agent["key_id"]))

    assert ("agent", "count") in find_problems(clients.lab)


def append_status(tx: Transaction, lab: Installation, agent: dict[str, Any], status: str) -> None:
    entry = agent_entries.agent_status_entry(
        entries.FIRST_LINK, agent_id=UUID(agent["id"]), status=status, at=lab.clock.now()
    )
    lab.log.append(tx, entry, kind=EntryType.AGENT_STATUS, subject=agent_entries.agent_subject(agent["id"]))


def test_a_follower_rejects_a_second_beginning_and_an_impossible_status(
    client: httpx.Client, clients: TenantClients, tmp_path: Any
) -> None:
    agent = register_agent(client)
    with clients.lab.storage.write() as tx:
        append_status(tx, clients.lab, agent, "active")

    with pytest.raises(Alarm, match="cannot become active") as caught:
        make_follower(clients.lab, tmp_path / "state").advance(lambda _seen: None)
    assert isinstance(caught.value.__cause__, BrokenStatusChain)


def test_a_follower_rejects_a_key_that_changes_under_its_name(
    client: httpx.Client, clients: TenantClients, tmp_path: Any
) -> None:
    agent, lab = register_agent(client), clients.lab
    subject = agent_entries.agent_key_subject(agent["id"], agent["key_id"])
    with lab.storage.write() as tx:
        link: Link = lab.log.next_status_link(tx, subject)
        entry = agent_entries.agent_key_entry(
            link,
            **{"agent_id": UUID(agent["id"]), "kid": agent["key_id"], "alg": "Ed25519", "public_spki": b"another"},
            status="rotated",
            at=lab.clock.now(),
        )
        lab.log.append(tx, entry, kind=EntryType.AGENT_KEY, subject=subject)

    with pytest.raises(Alarm, match="changes its public key") as caught:
        make_follower(lab, tmp_path / "state").advance(lambda _seen: None)
    assert isinstance(caught.value.__cause__, BrokenStatusChain)
