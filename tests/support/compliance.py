"""Compliance checks over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

CHECKS = "/v1/compliance/checks"


def make_check(client: httpx.Client, entity_type: str, entity_id: str, **fields: Any) -> dict[str, Any]:
    """Check an entity."""
    answer = client.post(CHECKS, json={"entity_type": entity_type, "entity_id": entity_id, **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def check_agent(client: httpx.Client, agent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Check an agent."""
    return make_check(client, "agent", agent["id"], **fields)


def list_failed(check: dict[str, Any]) -> list[str]:
    """The controls that failed."""
    return [finding["control"] for finding in check["findings"] if not finding["passed"]]
