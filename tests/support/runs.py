"""Runs over HTTP: started, with steps that chain, by agents whose keys the service holds or that hold their own."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import httpx

from support.agents import KeyHolder, register_agent

RUNS = "/v1/orchestrations"
ROW = {"steps": [{"id": "read", "type": "fetch"}, {"id": "sum", "type": "compute", "depends_on": ["read"]}]}


def digest(text: str) -> str:
    """The SHA-256 of a text, as steps have it."""
    return sha256(text.encode()).hexdigest()


def start_run(client: httpx.Client, agent: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Start a run, by default of a new agent and with two steps in a row."""
    agent = register_agent(client) if agent is None else agent
    answer = client.post(RUNS, json={"agent_id": agent["id"], "name": "Invoices", "plan": ROW, **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def record_step(client: httpx.Client, run: dict[str, Any], step_id: str, **fields: Any) -> httpx.Response:
    """Record a step of a run, whose outputs are the digest of its id."""
    body = {"step_id": step_id, "inputs_hash": digest("start"), "outputs_hash": digest(step_id), "status": "completed"}
    return client.post(f"{RUNS}/{run['orchestration_id']}/steps", json={**body, **fields})


def sign_step(asked: httpx.Response, holder: KeyHolder) -> str:
    """Sign what the service proposed."""
    proposed: str = asked.json()["details"]["signing_input_b64url"]
    return f"{proposed}.{holder.sign(proposed.encode())}"


def record_row(client: httpx.Client, run: dict[str, Any]) -> None:
    """Record both steps of a run with the plan `ROW`, so that they chain."""
    for step_id, inputs in (("read", "start"), ("sum", "read")):
        answer = record_step(client, run, step_id, inputs_hash=digest(inputs))
        assert answer.status_code == 201, answer.text


def complete(client: httpx.Client, run: dict[str, Any], **fields: Any) -> httpx.Response:
    """End a run."""
    return client.post(f"{RUNS}/{run['orchestration_id']}/complete", json=fields)


def complete_run(client: httpx.Client, agent: dict[str, Any] | None = None) -> dict[str, Any]:
    """A run of two steps that chain, completed."""
    run = start_run(client, agent)
    record_row(client, run)
    answer = complete(client, run)
    assert answer.status_code == 200, answer.text
    ended: dict[str, Any] = answer.json()
    return ended
