"""Requests for votes and votes over HTTP, by agents whose keys the service holds or that hold their own."""

from __future__ import annotations

from typing import Any

import httpx

from support.agents import KeyHolder, register_agent

REQUESTS = "/v1/witness/requests"
CLAIM = {"subject": "invoice 7", "claim_type": "paid", "claim_value": "true"}


def request_votes(client: httpx.Client, originator: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Request votes about a claim, by default one of a new agent."""
    agent = register_agent(client) if originator is None else originator
    answer = client.post(REQUESTS, json={"originator_agent_id": agent["id"], "claim": CLAIM, **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def vote(client: httpx.Client, request: dict[str, Any], agent: dict[str, Any], **fields: Any) -> httpx.Response:
    """Vote as an agent, by default to confirm."""
    body = {"agent_id": agent["id"], "verdict": "confirm", **fields}
    return client.post(f"{REQUESTS}/{request['request_id']}/attest", json=body)


def vote_with_own_key(
    client: httpx.Client, request: dict[str, Any], agent: dict[str, Any], holder: KeyHolder, **fields: Any
) -> httpx.Response:
    """Vote as an agent that holds its key: ask what to sign, sign it, send it."""
    asked = vote(client, request, agent, **fields)
    assert asked.status_code == 400, asked.text
    return vote(client, request, agent, **fields, signature=sign_vote(asked, holder))


def sign_vote(asked: httpx.Response, holder: KeyHolder) -> str:
    """Sign what the service proposed."""
    proposed: str = asked.json()["details"]["signing_input_b64url"]
    return f"{proposed}.{holder.sign(proposed.encode())}"


def get_consensus(client: httpx.Client, request: dict[str, Any]) -> dict[str, Any]:
    """Get what the votes decided."""
    answer = client.get(f"{REQUESTS}/{request['request_id']}/consensus")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found
