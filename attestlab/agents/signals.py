"""Risk signals about agents: what they, or others with their tokens, do that people look at (CONTRACT 11.12)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.agents.rules import SIGNAL_SOURCE, format_agent_id
from attestlab.core.db.transaction import Transaction
from attestlab.risk.rules import Entity, EntityType, Factor
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_signals


def describe_entity(agent_id: UUID, tenant_id: UUID) -> Entity:
    """Return an agent as signals, cases and lists name it: a user with the agent's id in protocols."""
    return Entity(EntityType.USER, format_agent_id(agent_id, tenant_id))


def record_agent_signal(
    tx: Transaction, tenant_id: UUID, agent_id: UUID, session_id: UUID | None, factor: Factor, *, at: datetime
) -> None:
    """Record a signal about an agent; the factor names its type, explains it, and contributes the whole score."""
    members = {"agent_id": str(agent_id), "session_id": None if session_id is None else str(session_id)}
    entity, details = describe_entity(agent_id, tenant_id), encode_details(members, [factor])
    record_signals(
        tx, tenant_id, [NewSignal(SIGNAL_SOURCE, factor.name, factor.contribution, entity, details, at)], at=at
    )
