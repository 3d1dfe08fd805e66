"""The mail of a report: what the page says in words, and its still as a file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attestlab.mail.rules import HtmlFile, MailText, name_in_subject
from attestlab.views.schedules.rules import describe_times


def report_mail(
    *, name: str, sentences: Sequence[str], url: str, weekday: int | None, hour: int, at: datetime
) -> MailText:
    """Return the mail of a report.

    Args:
        name: what the owner calls the view.
        sentences: the answer of the page and a line for each key figure; there may be none.
        url: the address of the view.
        weekday: the day of the week of the report, 0 is Monday; None is every day.
        hour: its hour of the day in UTC.
        at: when it was drawn.
    """
    figures = "\n\n".join(sentences)
    body = f"{figures}\n\n" if figures else ""
    return MailText(
        f"{name_in_subject(name)}, {at.day} {at:%B %Y}",
        f"{body}The page as it was when this mail was written is attached. It needs no connection.\n\n"
        f"The page of now: {url}\n\n"
        f"This report of the view {name} is sent {describe_times(weekday, hour)}. "
        "The person who saved the view can change this, or leave you out.\n",
    )


def name_file(page: str, at: datetime) -> str:
    """Name the file of a still by its page and day.

    >>> from datetime import UTC
    >>> name_file("risk", datetime(2026, 11, 30, 8, tzinfo=UTC))
    'risk-2026-11-30.html'
    """
    return f"{page}-{at:%Y-%m-%d}.html"


def attach(page: str, html: bytes, at: datetime) -> HtmlFile:
    """Make the attachment of a still."""
    return HtmlFile(name_file(page, at), html)
