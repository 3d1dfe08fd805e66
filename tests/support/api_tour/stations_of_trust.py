"""Stations of the tour for trust and compliance: an agent is checked and penalized, and its score explained."""

from __future__ import annotations

from support.agents import register_agent
from support.api_tour.recording import TourRecorder
from support.trust import report_signal


def visit_trust(tour: TourRecorder) -> None:
    """Check an agent, read the checks, and read its trust score with its history."""
    key = tour.account.with_key
    agent = register_agent(key, display_name="Invoice archivist", scopes=["invoices:read"])
    body = {"entity_type": "agent", "entity_id": agent["id"], "regulation": "GDPR"}
    check = tour.call("create_compliance_check", key, body)
    tour.call("list_compliance_checks", key, entity_id=agent["id"], limit=1)
    tour.call("get_compliance_check", key, id=check["check_id"])
    report_signal(key, agent, 40)
    tour.call("get_agent_trust", key, id=agent["id"])
    tour.call("list_agent_trust_changes", key, id=agent["id"], limit=2)
