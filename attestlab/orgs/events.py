"""Events of teams and API keys; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class MemberInvited(Event, type="team.member_invited"):
    """A person was invited, for the first time or again; the event does not contain the address."""

    user_id: UUID
    role: str
    invited_at: datetime
    invited_until: datetime


@dataclass(frozen=True)
class MemberJoined(Event, type="team.member_joined"):
    """A person accepted an invitation."""

    user_id: UUID
    role: str
    joined_at: datetime


@dataclass(frozen=True)
class MemberRemoved(Event, type="team.member_removed"):
    """A person was removed; their sessions ended."""

    user_id: UUID
    removed_at: datetime


@dataclass(frozen=True)
class RoleChanged(Event, type="team.role_changed"):
    """A person's roles changed; several are separated by commas."""

    user_id: UUID
    old_role: str
    new_role: str
    changed_at: datetime


@dataclass(frozen=True)
class ApiKeyCompromised(Event, type="security.api_key_compromised"):
    """An API key was flagged as compromised and revoked."""

    api_key_id: UUID
    compromised_at: datetime
