"""What the service of reports returns beyond rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.views.schedules.tables import ViewScheduleRecord
from attestlab.views.tables import SavedViewRecord


class ScheduledView(NamedTuple):
    """A saved view and its schedule, if it has one."""

    row: SavedViewRecord
    schedule: ViewScheduleRecord | None


@dataclass(frozen=True)
class LeasedReport:
    """A report that this process draws in its n-th attempt, for those of its recipients who are still there."""

    view_id: UUID
    tenant_id: UUID
    due_at: datetime
    attempt: int
    page: str
    query: str = field(repr=False)
    recipients: tuple[UUID, ...] = ()


@dataclass(frozen=True)
class DrawnReport:
    """What a page shows to one recipient: its sentences, and its still as HTML in UTF-8."""

    sentences: tuple[str, ...] = field(repr=False)
    html: bytes = field(repr=False)
