"""Events of the oversight of agents; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from attestlab.core.events import Event, EventField


@dataclass(frozen=True)
class AgentOwnerLeft(Event, type="agent.owner_left"):
    """The person who answered for an agent was removed; without another one, the agent is suspended later."""

    agent_id: UUID
    owner_user_id: Annotated[UUID, EventField("The person who was removed.", "0193b5a0-7f3c-7abc-8def-0123456789ab")]
    suspended_from: Annotated[datetime, EventField("From then on it is suspended.", "2026-12-01T09:30:00.000Z")]
