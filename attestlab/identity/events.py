"""What happens to accounts; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class PasswordChanged(Event, type="security.password_changed"):
    """A person changed their password; every other session of theirs ended."""

    user_id: UUID
    sessions_ended: int
    changed_at: datetime


@dataclass(frozen=True)
class SuspiciousActivity(Event, type="security.suspicious_activity"):
    """Something happened to an account that its owner would not do; `reason` says what."""

    user_id: UUID
    session_id: UUID
    reason: str
    detected_at: datetime
