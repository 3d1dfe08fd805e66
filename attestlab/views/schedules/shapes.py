"""Wire models of reports by mail (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.views.schedules.rules import MAX_RECIPIENTS

Weekday = Annotated[int, Field(ge=0, le=6)]
Hour = Annotated[int, Field(ge=0, le=23)]
RecipientIds = Annotated[list[UUID], Field(min_length=1, max_length=MAX_RECIPIENTS)]


class ScheduleIn(In, wire_name="view_schedule_input", source="CONTRACT 8"):
    """When a report of a view is sent by mail, and to whom."""

    weekday: Weekday | None = None
    """The day of the week, 0 is Monday. Format: 0-6, or left out for every day."""
    hour: Hour
    """The hour of the day in UTC. Format: 0-23."""
    recipients: RecipientIds
    """The people who get it, active members of the tenant. Format: 1-20 UUIDs, each once."""


class ScheduleOut(Out, wire_name="view_schedule", source="CONTRACT 8"):
    """When a report of a view is sent by mail, to whom, and how the last one went."""

    weekday: int | None
    """The day of the week, 0 is Monday. Format: 0-6, or null for every day."""
    hour: int
    """The hour of the day in UTC. Format: 0-23."""
    recipients: list[UUID]
    """The people who get it. Format: 1-20 UUIDs."""
    next_at: Moment | None
    """When the next report is due. Format: RFC 3339, or null."""
    last_sent_at: Moment | None
    """When the last report was sent. Format: RFC 3339, or null before the first."""
    last_error: str | None
    """Why the last report failed, until one is sent. Format: text of at most 400 characters, or null."""
