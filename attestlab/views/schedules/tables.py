"""Table of the reports by mail."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.views.schedules.rules import MAX_ERROR_LENGTH, MAX_RECIPIENTS_LENGTH, parse_recipients


@short_repr
class ViewScheduleRecord(NamedTuple):
    """When the report of a saved view is due, and for whom; one that was ended has no time and no recipients.

    `due_at` is when the next report is due, `next_attempt_at` when it is tried, or its lease ends. `attempts` counts
    those for `due_at`, and while a process makes one the row `is_leased`. `last_error` is why the last report failed,
    until one is sent.
    """

    view_id: Annotated[UUID, Field(primary_key=True, foreign_key="saved_views.id")]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    weekday: int | None
    hour: int
    recipients: Annotated[str, Field(max_length=MAX_RECIPIENTS_LENGTH)]
    due_at: datetime | None
    next_attempt_at: Annotated[datetime | None, Field(index=True)]
    attempts: int
    is_leased: bool
    last_sent_at: datetime | None
    last_error: Annotated[str | None, Field(max_length=MAX_ERROR_LENGTH)]
    created_at: datetime
    updated_at: datetime

    @property
    def recipient_ids(self) -> tuple[UUID, ...]:
        """The people who get the report, in the order in which they were named."""
        return parse_recipients(self.recipients)


ViewSchedule = model_of(ViewScheduleRecord, "view_schedules")
