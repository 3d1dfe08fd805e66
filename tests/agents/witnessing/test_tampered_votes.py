"""fsck knows votes: each test makes one change behind the service's back, which it finds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import Table, delete, update

from attestlab.agents.witnessing.integrity import find_inconsistencies
from attestlab.agents.witnessing.store import requests, votes
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from support.agents import register_agent
from support.orgs import TenantClients
from support.votes import get_consensus, request_votes, vote

pytestmark = pytest.mark.tampered


def change(lab: Installation, table: Table, row_id: str, **values: Any) -> None:
    with lab.storage.engine.begin() as connection:
        connection.execute(update(table).where(table.c.id == UUID(row_id)).values(**values))


def find_problems(lab: Installation) -> dict[str, str]:
    """What is found without the audit trail, which someone who changes rows may have changed as well."""
    with lab.storage.read() as connection:
        return dict(find_inconsistencies(connection))


@pytest.mark.both_engines
@pytest.mark.parametrize("column", ["verdict", "evidence", "confidence", "claim_sha256", "jws", "kid", "agent_id"])
def test_fsck_finds_a_vote_that_its_agent_did_not_sign(
    client: httpx.Client, clients: TenantClients, column: str
) -> None:
    other, made = register_agent(client), request_votes(client)
    cast = vote(client, made, register_agent(client), evidence="seen", confidence=0.5).json()
    token = get_consensus(client, made)["votes"][0]["jws"]
    changes = {
        **{"verdict": "abstain", "evidence": "not seen", "confidence": 0.6, "claim_sha256": "A" * 43},
        **{"jws": f"{token[:-4]}AAAA", "kid": other["key_id"], "agent_id": UUID(other["id"])},
    }
    assert find_problems(clients.lab) == {}

    table, row_id = (requests, made["request_id"]) if column == "claim_sha256" else (votes, cast["vote_id"])
    change(clients.lab, table, row_id, **{column: changes[column]})

    assert cast["vote_id"] in find_problems(clients.lab)
    assert {problem.kind for problem in fsck(clients.lab)} >= {"witness_vote"}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"claim_value": "false"}, "its claim is not the one of its digest"),
        ({"confirm": 2}, "its tally is 2, 0, 0, but its votes count (1, 0, 0)"),
        ({"status": "denied"}, "its status is denied, but its votes make it confirmed"),
        ({"status": "pending"}, "its status is pending, but its votes make it confirmed"),
        ({"required_votes": 2}, "its status is confirmed, but its votes make it pending"),
    ],
)
def test_fsck_finds_a_request_that_differs_from_its_votes(
    client: httpx.Client, clients: TenantClients, values: dict[str, Any], problem: str
) -> None:
    made = request_votes(client, required_witnesses=1)
    vote(client, made, register_agent(client))

    change(clients.lab, requests, made["request_id"], **values)

    assert find_problems(clients.lab) == {made["request_id"]: problem}


def test_fsck_finds_a_vote_that_was_removed(client: httpx.Client, clients: TenantClients) -> None:
    made = request_votes(client, required_witnesses=1)
    cast = vote(client, made, register_agent(client)).json()
    with clients.lab.storage.engine.begin() as connection:
        connection.execute(delete(votes).where(votes.c.id == UUID(cast["vote_id"])))

    assert made["request_id"] in find_problems(clients.lab)
