"""Events of votes; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from attestlab.core.events import Event, EventField


@dataclass(frozen=True)
class WitnessDecided(Event, type="witness.decided"):
    """Votes of independent agents decided a claim, or too few of them voted in time; published once for a request."""

    request_id: UUID
    status: Annotated[str, EventField("What the votes decided: confirmed, denied, or expired.", "confirmed", 9)]
    decided_at: Annotated[datetime, EventField("When it was decided.", "2026-11-24T09:30:00.000Z")]
