"""Events of protections; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class ContentProtected(Event, type="consumer.content.protected"):
    """A consumer protected new content; the operator's tenant gets the event, because consumers have no endpoints."""

    protection_id: UUID
    attestation_id: UUID
    visibility: str
    protected_at: datetime
