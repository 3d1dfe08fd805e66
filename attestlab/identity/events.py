"""Events of accounts; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class PasswordChanged(Event, type="security.password_changed"):
    """A person changed their password, or chose another one by mail; their other sessions ended."""

    user_id: UUID
    sessions_ended: int
    changed_at: datetime


@dataclass(frozen=True)
class SuspiciousActivity(Event, type="security.suspicious_activity"):
    """An account shows activity that its owner would not cause; `reason` names it."""

    user_id: UUID
    session_id: UUID
    reason: str
    detected_at: datetime
