"""What an agent does as itself needs no scope; what it does to another agent is refused."""

from __future__ import annotations

import httpx
import pytest

from attestlab.agents.access import OWN_READERS, OWN_WRITERS
from attestlab.server.app import all_routes
from support.agents import AGENTS, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients
from support.votes import request_votes, vote

OWN_ACTS = {
    "GET /v1/agents/{id}",
    "POST /v1/agent-sessions/{id}/terminate",
    "POST /v1/observability/events",
    "POST /v1/observability/events/bulk",
    "POST /v1/orchestrations/{id}/steps",
    "POST /v1/witness/requests/{id}/attest",
}

pytestmark = pytest.mark.one_world


def test_a_session_without_scopes_reaches_its_own_agent_alone(client: httpx.Client, clients: TenantClients) -> None:
    agent, other = register_agent(client, scopes=["docs:read"]), register_agent(client)
    session = open_session(client, agent)
    asked = request_votes(client)

    with make_client(clients.url, token=session["token"]) as itself:
        assert itself.get(f"{AGENTS}/{agent['id']}").status_code == 200
        assert vote(itself, asked, agent).status_code == 201
        refused = [itself.get(f"{AGENTS}/{other['id']}"), vote(itself, asked, other), itself.get(AGENTS)]

    assert [each.status_code for each in refused] == [403, 403, 403]
    assert refused[1].json()["details"]["reason"] == "another_agent"
    assert [each.json()["details"]["required_scope"] for each in (refused[0], refused[2])] == ["agents:read"] * 2


def test_the_routes_of_own_acts_are_listed() -> None:
    own = {f"{each.method} {each.path}" for each in all_routes() if each.needs in (OWN_READERS, OWN_WRITERS)}

    assert own == OWN_ACTS, "list a new own act here, with a test that it refuses other agents"
