"""Events of machine agents; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from attestlab.core.events import Event, EventField


@dataclass(frozen=True)
class AgentRegistered(Event, type="agent.registered"):
    """An agent was registered."""

    agent_id: UUID
    agent_type: Annotated[str, EventField("What the agent is for.", "worker", 12)]
    created_at: datetime


@dataclass(frozen=True)
class AgentSuspended(Event, type="agent.suspended"):
    """An agent was suspended: its sessions have ended, and it cannot open another until it is resumed."""

    agent_id: UUID
    at: datetime


@dataclass(frozen=True)
class AgentResumed(Event, type="agent.resumed"):
    """A suspended agent is active again."""

    agent_id: UUID
    at: datetime


@dataclass(frozen=True)
class AgentRevoked(Event, type="agent.revoked"):
    """An agent was revoked for good, or reached its expiry; published once."""

    agent_id: UUID
    at: datetime


@dataclass(frozen=True)
class AgentKilled(Event, type="agent.killed"):
    """An agent was killed: it and as many of its descendants as counted are revoked, and their sessions have ended."""

    agent_id: UUID
    revoked_descendants: Annotated[int, EventField("The agents below it that were revoked with it.", 2)]
    terminated_sessions: Annotated[int, EventField("The open sessions that ended.", 4)]
    killed_at: Annotated[datetime, EventField("When the agents were revoked.", "2026-11-24T09:30:00.000Z")]


@dataclass(frozen=True)
class AgentKeyRotated(Event, type="agent.key_rotated"):
    """Another key replaced an agent's key; what the old one signed stays valid."""

    agent_id: UUID
    kid: str
    new_kid: str
    rotated_at: datetime
