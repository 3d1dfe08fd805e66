"""Rules of reports by mail: when they are due, who may get them, and how a failed one is tried again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.orgs.role_rules import is_active

MAX_RECIPIENTS: Final = 20
MAX_RECIPIENTS_LENGTH: Final = MAX_RECIPIENTS * 37  # of their ids in one column
MAX_ATTEMPTS: Final = 8
FIRST_PAUSE: Final = timedelta(minutes=2)
MAX_RETRY_PAUSE: Final = timedelta(hours=1)
LEASE_TTL: Final = timedelta(minutes=2)
LEASE_RENEWAL_INTERVAL_S: Final = 30.0
MAX_ERROR_LENGTH: Final = 400
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def find_next(after: datetime, *, weekday: int | None, hour: int) -> datetime:
    """Find the first time after `after` at which a report is due.

    Args:
        after: a UTC time.
        weekday: 0 is Monday; None is every day.
        hour: the hour of the day in UTC.

    >>> from datetime import UTC
    >>> find_next(datetime(2026, 11, 29, 8, tzinfo=UTC), weekday=0, hour=8).isoformat()
    '2026-11-30T08:00:00+00:00'
    >>> find_next(datetime(2026, 11, 29, 8, tzinfo=UTC), weekday=None, hour=8).isoformat()
    '2026-11-30T08:00:00+00:00'
    """
    due = after.replace(hour=hour, minute=0, second=0, microsecond=0)
    if weekday is not None:
        due += timedelta(days=(weekday - due.weekday()) % 7)
    while due <= after:
        due += timedelta(days=1 if weekday is None else 7)
    return due


def pause_after(attempts: int) -> timedelta:
    """Return the pause after a number of failed attempts: two minutes, doubling up to an hour.

    >>> [int(pause_after(attempts).total_seconds() / 60) for attempts in (1, 2, 5, 6, 8)]
    [2, 4, 32, 60, 60]
    """
    return min(FIRST_PAUSE * (1 << (attempts - 1)), MAX_RETRY_PAUSE)


def describe_times(weekday: int | None, hour: int) -> str:
    """Describe when a report is sent.

    >>> describe_times(0, 8), describe_times(None, 17)
    ('every Monday at 08:00 UTC', 'every day at 17:00 UTC')
    """
    return f"every {'day' if weekday is None else WEEKDAYS[weekday]} at {hour:02}:00 UTC"


def require_recipients(recipients: Sequence[UUID], statuses: Mapping[UUID, str | None]) -> None:
    """Require that each recipient is a member of the tenant who can sign in, and is named once.

    Args:
        recipients: the people, in the order in which they were named.
        statuses: the status of those of them who are the tenant's.

    Raises:
        NotFound: the tenant has no such person.
        ValidationFailed: a person was invited or removed, or is named twice.
    """
    for place, user_id in enumerate(recipients):
        if user_id not in statuses:
            raise NotFound("user", user_id)
        if user_id in recipients[:place]:
            message = f"{user_id} is named twice. Name each recipient once."
            raise ValidationFailed.of(f"/recipients/{place}", "repeated", message)
        if not is_active(status := statuses[user_id]):
            message = f"{user_id} is {status}, and mails go to active people alone. Leave them out."
            raise ValidationFailed.of(f"/recipients/{place}", "inactive", message)


def format_recipients(recipients: Iterable[UUID]) -> str:
    """Format recipients for storage."""
    return " ".join(map(str, recipients))


def parse_recipients(stored: str) -> tuple[UUID, ...]:
    """Parse stored recipients."""
    return tuple(map(UUID, stored.split()))
