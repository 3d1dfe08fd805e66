"""The columns of what is reported as it happens: deliveries of webhooks, and events of agents."""

from __future__ import annotations

from attestlab.lake.columns import BOOL, NUMBER, TEXT, TIME, WHOLE, Column

DELIVERIES = {
    "seq": Column(WHOLE, "Its number among the attempts of all tenants. Format: from 0."),
    "at": Column(TIME, "When the attempt began. Format: UTC, microseconds."),
    "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
    "endpoint_id": Column(TEXT, "The webhook endpoint. Format: UUID, 36 characters."),
    "delivery_id": Column(TEXT, "The delivery. Format: UUID, 36 characters."),
    "event_id": Column(TEXT, "The event that was delivered. Format: UUID, 36 characters."),
    "event_type": Column(TEXT, "The type of that event. Format: a type of the event catalogue."),
    "number": Column(WHOLE, "Which attempt of the delivery it is. Format: from 1."),
    "success": Column(BOOL, "Whether the receiver accepted the event. Format: true or false."),
    "http_status": Column(WHOLE, "The status of the response; null if there was none. Format: 100-599.", nullable=True),
    "response_time_ms": Column(WHOLE, "How long the receiver took. Format: milliseconds."),
    "error": Column(TEXT, "Why it failed; null if it succeeded. Format: at most 400 characters.", nullable=True),
    "test": Column(BOOL, "Whether it was a test delivery. Format: true or false."),
    "manual": Column(BOOL, "Whether a person or program had it sent again. Format: true or false."),
}
AGENT_EVENTS = {
    "seq": Column(WHOLE, "Its number among the events of all tenants' agents. Format: from 0."),
    "id": Column(TEXT, "The event. Format: UUID, 36 characters."),
    "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
    "agent_id": Column(TEXT, "The agent. Format: UUID, 36 characters."),
    "event_type": Column(TEXT, "What it did. Format: a dotted name, at most 128 characters. Source: docs/agents.md."),
    "status": Column(TEXT, "How it ended. Format: ok or error. Source: docs/agents.md."),
    "latency_ms": Column(
        NUMBER, "How long it took. Format: milliseconds, 0-86400000. Source: docs/agents.md.", nullable=True
    ),
    "attributes": Column(TEXT, "What the reporter added. Format: a JSON object. Source: docs/agents.md."),
    "session_id": Column(TEXT, "The agent's session in which it happened. Format: UUID, 36 characters.", nullable=True),
    "reporting_session_id": Column(
        TEXT,
        "The agent's own session that reported it; null if another one did. Format: UUID, 36 characters.",
        nullable=True,
    ),
    "occurred_at": Column(TIME, "When it happened. Format: UTC, microseconds. Source: docs/agents.md."),
    "created_at": Column(TIME, "When it was reported. Format: UTC, microseconds. Source: docs/agents.md."),
}
