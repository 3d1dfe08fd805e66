"""Events of agents over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx

EVENTS = "/v1/observability/events"
METRICS = "/v1/observability/metrics"
NDJSON = {"Content-Type": "application/x-ndjson"}


def report(client: httpx.Client, agent: dict[str, Any], **fields: Any) -> httpx.Response:
    """Report an event of an agent, by default a call of a tool that went well."""
    return client.post(EVENTS, json={"agent_id": agent["id"], "event_type": "tool.call", **fields})


def report_many(client: httpx.Client, events: list[dict[str, Any]], **headers: str) -> dict[str, Any]:
    """Report events in one request; returns its result."""
    lines = "\n".join(json.dumps({"event_type": "tool.call", **event}) for event in events)
    answer = client.post(f"{EVENTS}/bulk", content=lines, headers=NDJSON | headers)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


def get_metrics(client: httpx.Client, **query: Any) -> dict[str, Any]:
    """Get the figures of a period."""
    answer = client.get(METRICS, params=query)
    assert answer.status_code == 200, answer.text
    figures: dict[str, Any] = answer.json()
    return figures


def list_signals(client: httpx.Client, agent: dict[str, Any], signal_type: str | None = None) -> list[dict[str, Any]]:
    """List the signals about an agent, newest first."""
    query = {"source": "agent", "entity_type": "user", "entity_id": agent["agent_id"]}
    query |= {} if signal_type is None else {"signal_type": signal_type}
    found: list[dict[str, Any]] = client.get("/v1/risk/signals", params=query).json()["items"]
    return found
