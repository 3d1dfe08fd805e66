"""Values that the addresses of pages carry: how they are read and written, the same on every page."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from attestlab_dashboards.pages import PageState

S = TypeVar("S", bound=PageState)


def change_state(state: S, **changes: str) -> S:
    """Return a state with other values, given as in an address; the same state if one is not acceptable.

    An empty text resets a value.
    """
    query = {name: text for name, text in {**state.to_query(), **changes}.items() if text}
    changed, left_out = state.from_query(query)
    return state if left_out else changed


def one_of(*allowed: str) -> Callable[[str], str]:
    """Build the reader of one of these words; it raises ValueError for any other text."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return read


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Build the reader of a whole number within bounds, both inclusive; it raises ValueError for any other text."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return read


def read_time(text: str) -> datetime:
    """Read a time to the minute, which is UTC unless it says otherwise.

    >>> read_time("2026-11-02T12:00:30").isoformat()
    '2026-11-02T12:00:00+00:00'

    Raises:
        ValueError: it is no time.
    """
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).replace(second=0, microsecond=0)


def write_time(at: datetime) -> str:
    """Write a UTC time to the minute.

    >>> write_time(datetime(2026, 11, 2, 12, tzinfo=UTC))
    '2026-11-02T12:00Z'
    """
    return at.strftime("%Y-%m-%dT%H:%MZ").rjust(17, "0")
