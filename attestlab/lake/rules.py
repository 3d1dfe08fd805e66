"""Rules for requests of rows: their formats, by the media types that a client accepts (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

MAX_JSON_ROWS = 10_000


class RowFormat(StrEnum):
    """The format of the rows of a response."""

    ARROW = "application/vnd.apache.arrow.stream"
    JSON = "application/json"


def choose_format(accept: str | None) -> RowFormat:
    """Return Arrow if the client names it in `Accept`, and JSON otherwise.

    >>> choose_format("application/json, application/vnd.apache.arrow.stream;q=0.5").name
    'ARROW'
    >>> choose_format("application/vnd.apache.arrow.stream; q=0, */*").name, choose_format(None).name
    ('JSON', 'JSON')
    """
    accepted = dict(_parse_ranges(accept or ""))
    return RowFormat.ARROW if accepted.get(RowFormat.ARROW) else RowFormat.JSON


def _parse_ranges(accept: str) -> Iterator[tuple[str, bool]]:
    """Yield each media range, and whether it is acceptable."""
    for part in accept.split(","):
        name, *parameters = [text.strip().lower() for text in part.split(";")]
        yield name, not any(each.removeprefix("q=").strip("0.") == "" for each in parameters if each.startswith("q="))
