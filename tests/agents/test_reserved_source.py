"""An agent's session cannot write what its own trust, cases and anomalies follow: signals of the source `agent`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.agents import AGENTS, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients

SIGNALS, EVENTS, MAPPINGS = "/v1/risk/signals", "/v1/risk/events", "/v1/risk/mappings"

pytestmark = pytest.mark.one_world


@pytest.fixture
def agent(client: httpx.Client) -> dict[str, Any]:
    return register_agent(client, scopes=["risk:*"])


@pytest.fixture
def itself(client: httpx.Client, clients: TenantClients, agent: dict[str, Any]) -> Iterator[httpx.Client]:
    with make_client(clients.url, token=open_session(client, agent)["token"]) as acting:
        yield acting


def make_signal(source: str, about: str) -> dict[str, Any]:
    return {"source": source, "signal_type": "burst", "score": 90, "entity_type": "user", "entity_id": about}


def count_signals(client: httpx.Client, source: str) -> int:
    return len(client.get(SIGNALS, params={"source": source}).json()["items"])


def test_an_agent_records_no_signal_of_the_source_agent(
    client: httpx.Client, itself: httpx.Client, agent: dict[str, Any]
) -> None:
    other = register_agent(client)
    before = client.get(f"{AGENTS}/{other['id']}/trust").json()

    refused = [itself.post(SIGNALS, json=make_signal("agent", each["agent_id"])) for each in (agent, other)]
    event = {"event_type": "agent.burst", "entity_type": "user", "entity_id": other["agent_id"]}
    refused.append(itself.post(EVENTS, json=event))

    assert [each.status_code for each in refused] == [403] * 3, refused[-1].text
    assert {each.json()["details"]["reason"] for each in refused} == {"reserved_source"}
    assert count_signals(client, "agent") == 0
    assert client.get(f"{AGENTS}/{other['id']}/trust").json()["penalties"] == before["penalties"] == []
    assert itself.post(SIGNALS, json=make_signal("gateway", other["agent_id"])).status_code == 201
    assert client.post(SIGNALS, json=make_signal("agent", other["agent_id"])).status_code == 201


@pytest.mark.parametrize("query", ["", "?backfill=true"])
def test_in_bulk_the_lines_of_the_source_agent_are_rejected(
    client: httpx.Client, itself: httpx.Client, agent: dict[str, Any], query: str
) -> None:
    sources = ("gateway", "agent", "gateway")
    lines = [json.dumps(make_signal(each, agent["agent_id"])) for each in sources]
    lines.append(lines[1].replace("agent", "\\u0061gent", 1))

    answer = itself.post(
        f"{SIGNALS}/bulk{query}", content="\n".join(lines), headers={"Content-Type": "application/x-ndjson"}
    )

    found = answer.json()
    assert (found["accepted"], [each["line"] for each in found["rejected"]]) == (2, [2, 4]), answer.text
    assert "/source" in found["rejected"][0]["message"]
    assert count_signals(client, "agent") == 0


def test_an_agent_maps_no_event_to_the_source_agent(client: httpx.Client, itself: httpx.Client) -> None:
    items = client.get(MAPPINGS).json()["items"]
    more = [*items, {"event_type": "agent.calm", "signal_type": "burst", "score": 0}]

    refused = itself.put(MAPPINGS, json={"items": more})
    assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "reserved_source")
    assert client.put(MAPPINGS, json={"items": more}).status_code == 200
    assert itself.put(MAPPINGS, json={"items": items}).status_code == 403
    assert itself.put(MAPPINGS, json={"items": more[1:]}).status_code == 200
