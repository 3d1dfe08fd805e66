"""Events of delegations; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class DelegationCreated(Event, type="delegation.created"):
    """An agent delegated some of its scopes to another one, at this depth below the root."""

    delegation_id: UUID
    parent_agent_id: UUID
    child_agent_id: UUID
    depth: int
    at: datetime


@dataclass(frozen=True)
class DelegationRevoked(Event, type="delegation.revoked"):
    """A delegation was revoked, by itself or with one above it; the agents stay."""

    delegation_id: UUID
    parent_agent_id: UUID
    child_agent_id: UUID
    depth: int
    at: datetime
