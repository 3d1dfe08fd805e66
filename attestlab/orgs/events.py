"""What happens in a team and to its keys; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class MemberInvited(Event, type="team.member_invited"):
    """Somebody was invited, or invited again; the address itself is not told."""

    user_id: UUID
    role: str
    invited_at: datetime
    invited_until: datetime


@dataclass(frozen=True)
class MemberJoined(Event, type="team.member_joined"):
    """An invitation was accepted."""

    user_id: UUID
    role: str
    joined_at: datetime


@dataclass(frozen=True)
class MemberRemoved(Event, type="team.member_removed"):
    """A person was removed; their sessions are over."""

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
    """An API key was flagged compromised, and is revoked."""

    api_key_id: UUID
    compromised_at: datetime
