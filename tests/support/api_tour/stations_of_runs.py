"""Stations of the tour for runs: started, listed, recorded, completed and proven."""

from __future__ import annotations

from support.agents import register_agent
from support.api_tour.recording import TourRecorder
from support.runs import digest


def visit_runs(tour: TourRecorder) -> None:
    """Start a run with a plan of two steps, record both, and complete it."""
    key = tour.account.with_key
    agent = register_agent(key, agent_type="orchestrator", display_name="Month's end")
    steps = [{"id": "read", "type": "fetch"}, {"id": "sum", "type": "compute", "depends_on": ["read"]}]
    body = {"agent_id": agent["id"], "name": "Invoices of November", "plan": {"steps": steps}}
    place = {"id": tour.call("start_run", key, body)["orchestration_id"]}
    tour.call("list_runs", key, status="running", limit=1)
    step = {"status": "completed", "latency_ms": 420}
    hashes = {"inputs_hash": digest("november"), "outputs_hash": digest("120 invoices")}
    tour.call("record_run_step", key, {"step_id": "read", **hashes, **step}, **place)
    tour.call("get_run", key, **place)
    hashes = {"inputs_hash": digest("120 invoices"), "outputs_hash": digest("148,800.00 EUR")}
    tour.call("record_run_step", key, {"step_id": "sum", **hashes, **step}, **place)
    tour.call("complete_run", key, {}, **place)
    tour.call("get_run_proof", key, **place)
