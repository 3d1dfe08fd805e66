"""The header `Retry-After` of other hosts (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import ceil

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")  # the RFC has no fraction, but some hosts send one


def parse_retry_after(value: str | None, *, now: datetime, limit: timedelta) -> timedelta | None:
    """Parse a `Retry-After` header, seconds or an HTTP date; at most `limit`, None if it is neither.

    A fraction of a second is rounded up.

    >>> noon, limit = datetime(2026, 11, 24, 12, tzinfo=UTC), timedelta(seconds=300)
    >>> [parse_retry_after(value, now=noon, limit=limit).seconds for value in ("120", "1.5", "86400", "9" * 10)]
    [120, 2, 300, 300]
    >>> parse_retry_after("Tue, 24 Nov 2026 12:01:00 GMT", now=noon, limit=limit).seconds
    60
    >>> parse_retry_after("Tue, 24 Nov 2026 11:00:00 GMT", now=noon, limit=limit)
    datetime.timedelta(0)
    >>> parse_retry_after("soon", now=noon, limit=limit)
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return timedelta(seconds=ceil(min(float(text), limit.total_seconds())))
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    wait = at.replace(tzinfo=at.tzinfo or UTC) - now
    return min(max(wait, timedelta(0)), limit)
