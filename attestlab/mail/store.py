"""Queries for e-mails; columns are named, values are parameters."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, or_, select

from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.mail.rules import MAX_RETRY_PAUSE, MailStatus
from attestlab.mail.tables import Mail

mails = table_of(Mail)

_BY_ID = select(*mails.c).where(mails.c.id == bindparam("id"))
_DUE = (
    select(*mails.c)
    .where(
        or_(mails.c.next_attempt_at <= bindparam("now"), mails.c.next_attempt_at > bindparam("latest")),
        mails.c.status == MailStatus.WAITING.value,
    )
    .order_by(mails.c.next_attempt_at, mails.c.id)
    .limit(1)
)


def find_due(tx: Transaction, now: datetime) -> dict[str, Any] | None:
    """Returns the mail that has been due longest, or None.

    A mail whose next attempt is later than the longest pause was stored while a clock was wrong, and counts as due.
    """
    row = tx.exec(_DUE, {"now": now, "latest": now + 2 * MAX_RETRY_PAUSE}).mappings().first()
    return None if row is None else dict(row)


def list_waiting(tx: Transaction) -> list[dict[str, Any]]:
    """Lists all mails whose text is still stored."""
    texts = select(*mails.c).where(mails.c.status == MailStatus.WAITING.value).order_by(mails.c.id)
    return [dict(row) for row in tx.exec(texts).mappings()]


def get_mail(tx: Transaction, mail_id: UUID) -> dict[str, Any]:
    """Returns all columns of one mail, for an update."""
    return dict(tx.exec(_BY_ID, {"id": mail_id}).mappings().one())
