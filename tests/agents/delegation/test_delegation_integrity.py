"""fsck compares delegations with what their parents signed, the log and their children, whatever the audit log says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import delete, select, update

from attestlab.agents.delegation.integrity import find_inconsistencies
from attestlab.agents.delegation.store import delegations
from attestlab.agents.store import agents
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from support.agents import AGENTS, register_agent

pytestmark = pytest.mark.tampered


@pytest.fixture
def chain(client: httpx.Client) -> list[dict[str, Any]]:
    """A delegation, and one below it."""
    above, made = register_agent(client, scopes=["docs:*"])["id"], []
    for name in ("Worker", "Helper"):
        body = {"scopes": ["docs:read", "!docs:delete"], "child": {"display_name": name}}
        answer = client.post(f"{AGENTS}/{above}/delegations", json=body)
        assert answer.status_code == 201, answer.text
        made.append(answer.json())
        above = answer.json()["child"]["id"]
    return made


def list_problems(lab: Installation) -> dict[str, str]:
    with lab.storage.read() as connection:
        return dict(find_inconsistencies(connection))


def change(lab: Installation, made: dict[str, Any], **values: Any) -> None:
    with lab.storage.engine.begin() as connection:
        mine = delegations.c.id == UUID(made["delegation_id"])
        connection.execute(update(delegations).where(mine).values(**values))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"scopes": "docs:*"}, "differs from its hop in scopes"),
        ({"depth": 1}, "differs from its hop in depth"),
        ({"digest": "A" * 43}, "differs from its hop in digest"),
        ({"previous_id": None}, "differs from its hop in prev"),
        ({"kid": "agk_unknown"}, "its key agk_unknown is not one of the parent"),
        ({"hop": "a.b.c"}, "its hop is not what its parent signed"),
        ({"log_index": 0}, "differs from the log in the entry 0"),
        ({"revoked_index": 7}, "it was revoked at None, with the log index 7"),
    ],
)
def test_fsck_finds_a_changed_delegation(
    lab: Installation, chain: list[dict[str, Any]], values: dict[str, Any], problem: str
) -> None:
    assert list_problems(lab) == {}

    change(lab, chain[1], **values)

    found = list_problems(lab)
    assert set(found) == {chain[1]["delegation_id"]}
    assert problem in found[chain[1]["delegation_id"]]
    assert problem in " ".join(each.message for each in fsck(lab) if each.kind == "delegation")


def test_fsck_finds_a_delegation_that_lives_longer_or_names_another_agent(
    client: httpx.Client, lab: Installation, chain: list[dict[str, Any]]
) -> None:
    change(lab, chain[0], expires_at=lab.clock.now() + timedelta(days=99))
    change(lab, chain[1], child_agent_id=UUID(register_agent(client)["id"]))

    found = list_problems(lab)

    assert found[chain[0]["delegation_id"]] == "the row differs from its hop in expires_at"
    assert found[chain[1]["delegation_id"]] == "the row differs from its hop in child"


@pytest.mark.both_engines
def test_fsck_finds_a_revocation_that_was_undone_in_the_row(
    client: httpx.Client, lab: Installation, chain: list[dict[str, Any]]
) -> None:
    client.post(f"/v1/delegations/{chain[1]['delegation_id']}/revoke", json={"reason": "a test"})
    assert list_problems(lab) == {}

    change(lab, chain[1], revoked_at=None, revoked_because=None, revoked_index=None)

    assert "the log has 2 entries of it, and the row says 1" in list_problems(lab).values()


def test_fsck_finds_a_revocation_at_another_time(
    client: httpx.Client, lab: Installation, chain: list[dict[str, Any]]
) -> None:
    client.post(f"/v1/delegations/{chain[1]['delegation_id']}/revoke", json={"reason": "a test"})

    change(lab, chain[1], revoked_at=lab.clock.now() + timedelta(hours=1))

    assert "differs from the log in the entry" in list_problems(lab)[chain[1]["delegation_id"]]


@pytest.mark.parametrize(
    "values",
    [{"delegated_scopes": "docs:*"}, {"delegated_scopes": None}, {"delegation_depth": 0}, {"parent_agent_id": None}],
)
def test_fsck_finds_a_child_with_other_limits(
    lab: Installation, chain: list[dict[str, Any]], values: dict[str, Any]
) -> None:
    with lab.storage.engine.begin() as connection:
        connection.execute(update(agents).where(agents.c.id == UUID(chain[1]["child"]["id"])).values(**values))

    assert "stands elsewhere, or has other limits" in list_problems(lab)[chain[1]["delegation_id"]]


def test_fsck_finds_a_missing_delegation(lab: Installation, chain: list[dict[str, Any]]) -> None:
    with lab.storage.engine.begin() as connection:
        connection.execute(delete(delegations).where(delegations.c.id == UUID(chain[1]["delegation_id"])))
        assert len(connection.execute(select(delegations.c.id)).all()) == 1

    assert list_problems(lab) == {"count": "2 chains of delegation.status, 1 delegation"}
