"""Stations of the tour for delegations: given, listed, verified, proven, exported and revoked."""

from __future__ import annotations

from support.agents import register_agent
from support.api_tour.recording import TourRecorder


def visit_delegations(tour: TourRecorder) -> None:
    """Delegate from an agent to a new one, verify the chain as a stranger, and revoke it."""
    key = tour.account.with_key
    planner = register_agent(key, display_name="Planner", scopes=["docs:*", "!docs:delete"])
    child = {"display_name": "Reader", "agent_type": "worker"}
    made = tour.call("create_delegation", key, {"scopes": ["docs:read"], "child": child}, id=planner["id"])
    place = {"id": made["delegation_id"]}
    tour.call("list_delegations", key, id=planner["id"], direction="given", limit=1)
    tour.call("get_delegation", key, **place)
    tour.call("verify_delegation_chain", key, {"chain": made["chain"], "required_scope": "docs:read"})
    tour.call("get_delegation_proof", key, **place)
    tour.call("export_delegation_biscuit", key, **place)
    tour.call("revoke_delegation", key, {"reason": "it probes", "dry_run": True}, **place)
    tour.call("list_delegation_revocations", key, limit=1)
