"""The table of e-mails."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class MailRecord(NamedTuple):
    """An e-mail in the queue; its text may contain a secret link, so it is sealed, and deleted after delivery."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    recipient: Annotated[str, Field(max_length=254)]
    subject: Annotated[str, Field(max_length=200)]
    sealed: Annotated[bytes, Field(repr=False)]
    status: Annotated[str, Field(max_length=8)]
    attempts: int
    next_attempt_at: Annotated[datetime | None, Field(index=True)]
    last_error: Annotated[str | None, Field(max_length=400)]
    created_at: datetime
    carried_at: datetime | None


Mail = model_of(MailRecord, "mails")
