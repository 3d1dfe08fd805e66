"""Stations of the tour for votes: requested, listed, cast and read as a consensus."""

from __future__ import annotations

from support.agents import register_agent
from support.api_tour.recording import TourRecorder


def visit_votes(tour: TourRecorder) -> None:
    """Request votes about a claim, let an independent agent vote, and read what it decided."""
    key = tour.account.with_key
    reader, auditor = (register_agent(key, display_name=name) for name in ("Invoice reader", "Invoice auditor"))
    claim = {"subject": "invoice 2026-117", "claim_type": "total", "claim_value": "1,240.00 EUR"}
    body = {"originator_agent_id": reader["id"], "claim": claim, "required_witnesses": 1}
    place = {"id": tour.call("create_witness_request", key, body)["request_id"]}
    tour.call("list_witness_requests", key, status="pending", limit=1)
    tour.call("get_witness_request", key, **place)
    vote = {"agent_id": auditor["id"], "verdict": "confirm", "evidence": "The sum of its lines", "confidence": 0.95}
    tour.call("create_witness_vote", key, vote, **place)
    tour.call("get_witness_consensus", key, **place)
