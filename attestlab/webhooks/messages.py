"""Mails about webhooks to the people of a tenant: plain text, without secrets."""

from __future__ import annotations

from datetime import datetime

from attestlab.core.encoding import format_time
from attestlab.mail.rules import MailText, name_in_subject


def failing_mail(*, name: str, url: str, failing_since: datetime, last_error: str) -> MailText:
    """Return the warning that an endpoint has failed for days and will be disabled."""
    return MailText(
        f"Webhook endpoint {name_in_subject(name)} is failing",
        f"Every delivery to the webhook endpoint {name} has failed since {format_time(failing_since)}.\n\n"
        f"URL: {url}\nLast error: {last_error}\n\n"
        "After five days of failures, and at least 24 hours after this mail, the endpoint will be disabled. "
        "Correct the receiver, then send a test delivery. The events that were not delivered can be recovered.\n",
    )


def disabled_mail(*, name: str, url: str, last_error: str) -> MailText:
    """Return the notice that an endpoint was disabled."""
    return MailText(
        f"Webhook endpoint {name_in_subject(name)} was disabled",
        f"The webhook endpoint {name} was disabled and receives no more events.\n\n"
        f"URL: {url}\nLast error: {last_error}\n\n"
        "Correct the receiver, set the endpoint's status to active, and recover the events that it missed.\n",
    )


def confirmation_mail(*, name: str, url: str, event_type: str, status_code: int) -> MailText:
    """Return the confirmation of a successful test delivery."""
    return MailText(
        f"Test delivery to {name_in_subject(name)} succeeded",
        f"The webhook endpoint {name} accepted a test delivery of {event_type} with status {status_code}.\n\n"
        f"URL: {url}\n",
    )
