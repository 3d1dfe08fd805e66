"""The table of e-mails."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class Mail(SQLModel, table=True):
    """An e-mail in the queue; its text may contain a secret link, so it is sealed, and deleted after delivery."""

    __tablename__ = "mails"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    recipient: str = Field(max_length=254)
    subject: str = Field(max_length=200)
    sealed: bytes = Field(sa_type=LargeBinary, repr=False)
    status: str = Field(max_length=8)
    attempts: int
    next_attempt_at: datetime | None = Field(default=None, index=True)
    last_error: str | None = Field(default=None, max_length=400)
    created_at: datetime
    carried_at: datetime | None = None


@short_repr
class MailRecord(NamedTuple):
    """A row of `mails`."""

    id: UUID
    tenant_id: UUID
    recipient: str
    subject: str
    sealed: bytes
    status: str
    attempts: int
    next_attempt_at: datetime | None
    last_error: str | None
    created_at: datetime
    carried_at: datetime | None
