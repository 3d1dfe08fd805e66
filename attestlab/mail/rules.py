"""Rules for the delivery of e-mails: states, attempts and pauses."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from attestlab.core.short_text import shorten

MAX_ATTEMPTS = 10
FIRST_PAUSE = timedelta(minutes=1)
MAX_RETRY_PAUSE = timedelta(hours=1)
LEASE_TTL = timedelta(minutes=2)  # longer than a delivery has until its final dot (`smtp.SmtpTimeouts.handover_s`)
LEASE_RENEWAL_INTERVAL_S = 30.0
MAX_SUBJECT_CHARACTERS = 200
MAX_NAME_IN_SUBJECT = 100  # characters, so that a long name leaves room for what the mail is about
UNKNOWN_PORTAL = "\x00"  # stands for the portal's address until delivery; texts of clients lack this character
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


def name_in_subject(name: str) -> str:
    """Shorten a chosen name, so that the words around it stay in the subject.

    >>> name_in_subject("Registrar"), len(name_in_subject("Registrar " * 20))
    ('Registrar', 100)
    """
    return shorten(name, MAX_NAME_IN_SUBJECT)


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
