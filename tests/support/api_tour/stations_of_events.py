"""Stations of the tour for events of agents: reported alone and in bulk, and read as figures."""

from __future__ import annotations

import json

from support.agents import register_agent
from support.api_tour.recording import TourRecorder


def visit_events(tour: TourRecorder) -> None:
    """Report what an agent did, once and in lines, and read its figures."""
    key = tour.account.with_key
    agent = register_agent(key, display_name="Mail sorter")
    event = {"agent_id": agent["id"], "event_type": "tool.call", "latency_ms": 182.5, "attributes": {"tool": "search"}}
    tour.call("report_agent_event", key, event)
    lines = [json.dumps({**event, "latency_ms": 90}), json.dumps({**event, "status": "failed"})]
    tour.call("report_agent_events", key, "\n".join(lines))
    tour.call("get_agent_metrics", key, agent_id=agent["id"], granularity="week")
