"""Pagination: lists are newest first, one page at a time, and stable while rows are added (CONTRACT section 2).

A cursor encodes the position of the last row on a page, so a store queries the rows after it. It is opaque and
carries a checksum, so that a truncated cursor, or one made for another list, is rejected instead of silently
starting somewhere else. The checksum is not secret: a cursor gives access to nothing that the caller could not list
anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Annotated, Generic, Never, TypeVar
from uuid import UUID

from pydantic import Field

from attestlab.core.encoding import b64url_decode, b64url_encode, parse_uuid
from attestlab.core.errors import ValidationFailed
from attestlab.core.filters import NO_CONDITION
from attestlab.core.shapes import In, Out

Item = TypeVar("Item")
Row = TypeVar("Row")
Position = Sequence[str | int]

_CHECK_BYTES = 6
_SEPARATOR = "."  # between a position and the digest of its filters; base64url has none
_MAX_NUMBER = 2**63 - 1


class PageQuery(In, source="CONTRACT 2"):
    """The query of a list."""

    limit: Annotated[int, Field(ge=1, le=100), NO_CONDITION] = 50
    """The number of rows on a page. Format: 1-100, by default 50."""
    cursor: Annotated[str | None, NO_CONDITION] = None
    """Next_cursor of the page before; left out for the first page. Format: opaque."""

    @property
    def given_filters(self) -> set[str]:
        """The names of the given parameters that are not of the page."""
        return self.model_fields_set - OffsetPageQuery.model_fields.keys()


class OffsetPageQuery(PageQuery, source="CONTRACT 2"):
    """The query of a list that also takes an offset; a cursor takes precedence over an offset."""

    offset: Annotated[int, Field(ge=0, le=2**31), NO_CONDITION] = 0
    """The number of rows to skip, where no cursor is given. Format: from 0."""

    @property
    def rows_to_skip(self) -> int:
        """The number of rows to skip; 0 if there is a cursor."""
        return 0 if self.cursor is not None else self.offset

    @property
    def passes_over_rows(self) -> bool:
        """Whether the query may read rows that are not in the response; no index serves every filter."""
        return bool(self.rows_to_skip or self.given_filters)


class Page(Out, Generic[Item], source="CONTRACT 2"):
    """One page; `next_cursor` is null at the end."""

    items: list[Item]
    """The rows of this page. Format: newest first."""
    next_cursor: str | None
    """The cursor of the next page; null at the end. Format: opaque."""


def split_page(
    rows: Sequence[Row], *, limit: int, kind: str, position: Callable[[Row], Position]
) -> tuple[Sequence[Row], str | None]:
    """Split up to `limit + 1` rows from a store into the page's rows and the cursor of the next page."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], encode_cursor(kind, position(rows[limit - 1]))


def encode_cursor(kind: str, position: Position) -> str:
    """Encode the cursor for the rows after `position` in the list named `kind`."""
    text = json.dumps(list(position), separators=(",", ":")).encode()
    return b64url_encode(_checksum(kind, text) + text)


def bind_cursor(cursor: str, query: PageQuery) -> str:
    """Add a digest of the filters to a cursor: continued with other filters, a list would skip rows silently."""
    return f"{cursor}{_SEPARATOR}{_digest_filters(query)}"


def release_cursor(query: PageQuery) -> PageQuery:
    """Return a query whose cursor is without its digest.

    Raises:
        ValidationFailed: the cursor is of a page with other filters.
    """
    cursor, separator, digest = (query.cursor or "").partition(_SEPARATOR)
    if not separator:
        return query
    if digest != _digest_filters(query):
        message = "This cursor continues a list with other filters. Send the same filters, or omit the cursor."
        raise ValidationFailed.of("/cursor", "cursor", message)
    return query.model_copy(update={"cursor": cursor})


def _digest_filters(query: PageQuery) -> str:
    filters = [(name, str(getattr(query, name))) for name in sorted(query.given_filters)]
    return b64url_encode(sha256(json.dumps(filters).encode()).digest()[:_CHECK_BYTES])


def decode_position(kind: str, cursor: str) -> list[str | int]:
    """Decode the position in `cursor`.

    Raises:
        ValidationFailed: it is not a cursor of this list.
    """
    try:
        raw = b64url_decode(cursor)
    except ValidationFailed:
        _reject_cursor()
    check, text = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
    if check != _checksum(kind, text):
        _reject_cursor()
    try:
        position = json.loads(text)
    except ValueError:
        _reject_cursor()
    if not isinstance(position, list) or not position or not all(isinstance(item, (str, int)) for item in position):
        _reject_cursor()
    return position


def decode_number(kind: str, cursor: str | None) -> int | None:
    """Decode the cursor of a list that is ordered by a number; None without a cursor.

    Raises:
        ValidationFailed: it is not a cursor of this list.
    """
    if cursor is None:
        return None
    (number, *rest) = decode_position(kind, cursor)
    if rest or not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MAX_NUMBER:
        _reject_cursor()
    return number


def decode_id(kind: str, cursor: str | None) -> UUID | None:
    """Decode the cursor of a list that is ordered by id; None without a cursor.

    Raises:
        ValidationFailed: it is not a cursor of this list.
    """
    if cursor is None:
        return None
    (text, *rest) = decode_position(kind, cursor)
    try:
        item_id = parse_uuid(str(text))
    except ValidationFailed:
        _reject_cursor()
    if rest:
        _reject_cursor()
    return item_id


def _checksum(kind: str, text: bytes) -> bytes:
    return sha256(kind.encode() + b"\x00" + text).digest()[:_CHECK_BYTES]


def _reject_cursor() -> Never:
    raise ValidationFailed.of("/cursor", "cursor", "Invalid cursor for this list. Omit it to start at the first page.")
