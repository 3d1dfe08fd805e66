"""Stations of the tour for machine agents: registration, states, sessions, keys and statements."""

from __future__ import annotations

from support.agents import PROOF_PREFIX, KeyHolder
from support.api_tour.recording import TourRecorder
from support.in_process_server import make_client


def visit_agents(tour: TourRecorder) -> None:
    """Register an agent, change it, rotate to a key that its holder made, and end it."""
    key, holder = tour.account.with_key, KeyHolder()
    reader = {"display_name": "Invoice reader", "scopes": ["docs:*", "!docs:delete"], "metadata": {"team": "billing"}}
    agent = tour.call("register_agent", key, {"agent_type": "worker", **reader})
    place = {"id": agent["id"]}
    tour.call("get_agent", key, id=agent["agent_id"])
    tour.call("list_agents", key, agent_type="worker", limit=1)
    tour.call("get_agent_card", key, **place)
    tour.call("get_agent_jwks", key, **place)
    tour.call("get_agent_tree", key, **place)
    tour.call("review_agents", key, limit=1)
    tour.call("set_agent_settings", key, {"ownerless_grace_days": 7})
    tour.call("get_agent_settings", key)
    tour.call("update_agent", key, {"scopes": ["docs:read"]}, **place)
    tour.call("sign_agent_statement", key, {"payload": {"invoice": 7, "read": True}}, **place)
    visit_sessions(tour, agent["id"])
    challenge = tour.call("create_agent_challenge", key, {"public_key": holder.public_key})["challenge"]
    proof = holder.sign(PROOF_PREFIX + challenge.encode())
    rotated = tour.call("rotate_agent_key", key, {"public_key": holder.public_key, "proof": proof}, **place)
    tour.call("list_agent_keys", key, **place)
    sign_card(tour, agent["id"], holder)
    tour.call("suspend_agent", key, {"reason": "it reads too much"}, **place)
    tour.call("resume_agent", key, {"reason": "the reader was mended"}, **place)
    kid = rotated["new_key"]["kid"]
    tour.call("compromise_agent_key", key, {"reason": "found in a repository"}, **place, kid=kid)
    tour.call("kill_agent", key, {"reason": "it does not come back", "dry_run": True}, **place)
    tour.call("revoke_agent", key, {"reason": "it does not come back"}, **place)


def sign_card(tour: TourRecorder, agent_id: str, holder: KeyHolder) -> None:
    """Sign the card of an agent with the key that only its holder has."""
    key = tour.account.with_key
    asked = key.put(f"/v1/agents/{agent_id}/card/signature", json={})
    text = asked.json()["details"]["signing_input_b64url"]
    signature = f"{text}.{holder.sign(text.encode())}"
    tour.call("put_agent_card_signature", key, {"signature": signature}, id=agent_id)


def visit_sessions(tour: TourRecorder, agent_id: str) -> None:
    """Open a session of an agent, ask about its token, refresh and end it."""
    key = tour.account.with_key
    opened = tour.call("open_agent_session", key, {"agent_id": agent_id, "audience": ["https://tools.example"]})
    place = {"id": opened["session"]["id"]}
    tour.call("introspect_agent_token", key, {"token": opened["token"]})
    tour.call("list_agent_sessions", key, status="active", limit=1)
    tour.call("get_agent_session", key, **place)
    with make_client(tour.access.url) as bot:
        tour.call("refresh_agent_session", bot, {"refresh_token": opened["refresh_token"]}, **place)
    tour.call("terminate_agent_session", key, {"reason": "the job is done"}, **place)
