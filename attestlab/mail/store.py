"""The table of e-mails and its queries; columns are named, values are parameters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, or_, select
from sqlmodel import Field

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.mail.rules import MAX_RETRY_PAUSE, MailStatus

SINCE_0052 = {"info": {"since": "0052"}}


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
    attachment_name: Annotated[str | None, Field(max_length=100, sa_column_kwargs=SINCE_0052)] = None
    sealed_attachment: Annotated[bytes | None, Field(repr=False, sa_column_kwargs=SINCE_0052)] = None


Mail = model_of(MailRecord, "mails")


mails = table_of(Mail)

_BY_ID = select(*mails.c).where(mails.c.id == bindparam("id"))
_IS_DUE = (
    or_(mails.c.next_attempt_at <= bindparam("now"), mails.c.next_attempt_at > bindparam("latest")),
    mails.c.status == MailStatus.WAITING.value,
)
_DUE = select(*mails.c).where(*_IS_DUE).order_by(mails.c.next_attempt_at, mails.c.id).limit(1)


def find_due(tx: Transaction, now: datetime) -> MailRecord | None:
    """Return the mail that has been due longest, or None.

    A mail whose next attempt is later than the longest pause was stored while a clock was wrong, and counts as due.
    """
    return fetch_one(tx.exec(_DUE, {"now": now, "latest": now + 2 * MAX_RETRY_PAUSE}), MailRecord)


def list_due(execute: Execute, now: datetime, *, limit: int) -> list[UUID]:
    """List the ids of the mails that have been due longest."""
    due = select(mails.c.id).where(*_IS_DUE).order_by(mails.c.next_attempt_at, mails.c.id).limit(limit)
    return list(execute(due, {"now": now, "latest": now + 2 * MAX_RETRY_PAUSE}).scalars())


def list_waiting(tx: Transaction) -> list[MailRecord]:
    """List all mails whose text is still stored."""
    texts = select(*mails.c).where(mails.c.status == MailStatus.WAITING.value).order_by(mails.c.id)
    return fetch_all(tx.exec(texts), MailRecord)


def get_mail(tx: Transaction, mail_id: UUID) -> MailRecord:
    """Return all columns of one mail, for an update."""
    return MailRecord._make(tx.exec(_BY_ID, {"id": mail_id}).one())
