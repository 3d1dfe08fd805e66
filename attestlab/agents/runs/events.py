"""Events of runs; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from attestlab.core.events import Event, EventField


@dataclass(frozen=True)
class RunCompleted(Event, type="run.completed"):
    """A run of an agent ended, and the log has its hash; published once for a run."""

    orchestration_id: Annotated[UUID, EventField("The run.", "019ad2c4-7f3c-7abc-8def-0123456789ab")]
    status: Annotated[str, EventField("How it ended: completed, failed or canceled.", "completed", 9)]
    chain_ok: Annotated[bool, EventField("Whether each step took as inputs what its dependencies put out.", True)]
    log_index: int
    completed_at: Annotated[datetime, EventField("When it ended.", "2026-11-24T09:30:00.000Z")]
