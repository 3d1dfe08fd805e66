"""Rules for the delivery of e-mails: states, attempts and pauses."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

MAX_ATTEMPTS = 10
FIRST_PAUSE = timedelta(minutes=1)
MAX_RETRY_PAUSE = timedelta(hours=1)
LEASE_TTL = timedelta(minutes=2)  # longer than a delivery has until its final dot (`smtp.SmtpTimeouts.handover_s`)
LEASE_RENEWAL_INTERVAL_S = 30.0
MAX_DELIVERIES = 4  # concurrent deliveries of a process, so that a slow one does not delay the others


class MailText(NamedTuple):
    """Subject of one line, and plain text, of a mail."""

    subject: str
    text: str


class MailStatus(StrEnum):
    """WAITING for its first or next attempt; CARRIED and FAILED are final."""

    WAITING = "WAITING"
    CARRIED = "CARRIED"
    FAILED = "FAILED"


def pause_after(attempts: int) -> timedelta:
    """Return the pause after a number of attempts: a minute, doubling up to an hour.

    >>> [int(pause_after(attempts).total_seconds() / 60) for attempts in (1, 2, 3, 7, 10)]
    [1, 2, 4, 60, 60]
    """
    return min(FIRST_PAUSE * (1 << (attempts - 1)), MAX_RETRY_PAUSE)


def describe_error(fault: BaseException) -> str:
    """Describe a failed attempt for the database: its class and code only.

    A server's reply may quote the message, which contains a secret.
    """
    code = getattr(fault, "smtp_code", None) or getattr(fault, "errno", None)
    return f"{type(fault).__name__} {code}" if isinstance(code, int) else type(fault).__name__
