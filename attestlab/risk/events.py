"""Events of risk; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class SignalCreated(Event, type="risk.signal.created"):
    """A risk signal was recorded; `risk_score` is rounded down, so that none reads as escalated."""

    signal_id: UUID
    signal_source: str
    signal_type: str
    risk_score: int
    subject_type: str
    subject_id: str


@dataclass(frozen=True)
class SignalEscalated(Event, type="risk.signal.escalated"):
    """A signal reached the tenant's escalation threshold and belongs to a case."""

    signal_id: UUID
    signal_source: str
    signal_type: str
    risk_score: int
    subject_type: str
    subject_id: str
    case_id: UUID
