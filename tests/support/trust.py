"""Trust scores over HTTP, and the evidence that changes them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import httpx

from attestlab.agents.observability.rules import AgentEventStatus
from attestlab.agents.observability.store import NUMBERED
from attestlab.agents.observability.tables import AgentEventRecord
from attestlab.core.ids import new_id
from attestlab.installation import Installation
from attestlab.risk.numbering import UNNUMBERED
from support.agents import AGENTS, find_agent


def get_trust(client: httpx.Client, agent: dict[str, Any]) -> dict[str, Any]:
    """The score of an agent with its parts."""
    answer = client.get(f"{AGENTS}/{agent['id']}/trust")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def list_changes(client: httpx.Client, agent: dict[str, Any], **query: str) -> list[dict[str, Any]]:
    """The changes of an agent's score, newest first."""
    answer = client.get(f"{AGENTS}/{agent['id']}/trust/history", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def get_stored_score(client: httpx.Client, agent: dict[str, Any]) -> tuple[float, str]:
    """The score and the level of an agent's record."""
    record = client.get(f"{AGENTS}/{agent['id']}").json()
    return record["trust_score"], record["trust_level"]


def report_signal(client: httpx.Client, agent: dict[str, Any], score: float, **fields: Any) -> httpx.Response:
    """Record a risk signal of the source `agent` about an agent."""
    body = {"source": "agent", "signal_type": "scope_probe", "score": score, "details": {}}
    return client.post(
        "/v1/risk/signals", json={**body, "entity_type": "user", "entity_id": agent["agent_id"], **fields}
    )


def sweep_scores(lab: Installation) -> int:
    """Compute all scores that are due, as the sweep of a server does; returns in how many batches."""
    batches = 0
    while lab.agents.trust_keeper.has_due():
        with lab.storage.write() as tx:
            lab.agents.trust_keeper.write_due(tx)
        batches += 1
    return batches


def report_outcomes(
    lab: Installation, agent: dict[str, Any], *, ok: int, failed: int = 0, own_session: str | None = None
) -> None:
    """Record events of an agent, by another or through the agent's own session."""
    row, now = find_agent(lab, agent["id"]), lab.clock.now()
    statuses = [AgentEventStatus.OK] * ok + [AgentEventStatus.ERROR] * failed
    records = [
        AgentEventRecord(
            seq=UNNUMBERED,
            id=new_id(now),
            tenant_id=row.tenant_id,
            agent_id=row.id,
            event_type="tool.call",
            status=status.value,
            latency_ms=None,
            attributes="{}",
            session_id=None,
            reporting_session_id=None if own_session is None else UUID(own_session),
            occurred_at=now,
            created_at=now,
        )
        for status in statuses
    ]
    with lab.storage.write() as tx:
        NUMBERED.add(tx, records)
