"""Rules for the delivery of e-mails: states, attempts and pauses."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.short_text import shorten

MAX_ATTEMPTS = 10
FIRST_PAUSE = timedelta(minutes=1)
MAX_RETRY_PAUSE = timedelta(hours=1)
LEASE_TTL = timedelta(minutes=2)  # longer than a delivery has until its final dot (`smtp.SmtpTimeouts.handover_s`)
LEASE_RENEWAL_INTERVAL_S = 30.0
MAX_SUBJECT_CHARACTERS = 200
MAX_NAME_IN_SUBJECT = 100  # characters, so that a long name leaves room for what the mail is about
MAX_ATTACHMENT_BYTES = 400_000  # before base64, so that a mail stays far below what servers take
UNKNOWN_PORTAL = "\x00"  # stands for the portal's address until delivery; texts of clients lack this character
MAX_DELIVERIES = 4  # concurrent deliveries of a process, so that a slow one does not delay the others
_FILE_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,80})\.html")


class MailText(NamedTuple):
    """Subject of one line, and plain text, of a mail."""

    subject: str
    text: str


class HtmlFile(NamedTuple):
    """A file that is attached to a mail: its name, such as `risk.html`, and its HTML in UTF-8."""

    name: str
    content: bytes


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


def require_attachable(file: HtmlFile) -> None:
    """Require that a file can be attached to a mail.

    Raises:
        ValidationFailed: its name is none of an HTML file, or it is too long.
    """
    if not _FILE_NAME.fullmatch(file.name):
        message = f"{quote(file.name)} is no name of an attachment. Use small letters, digits and hyphens, then .html."
        raise ValidationFailed.of("attachment", "file_name", message)
    if len(file.content) > MAX_ATTACHMENT_BYTES:
        message = (
            f"The attachment {file.name} has {len(file.content):,} bytes; a mail takes {MAX_ATTACHMENT_BYTES:,}. "
            "Attach less."
        )
        raise ValidationFailed.of("attachment", "too_long", message)


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
