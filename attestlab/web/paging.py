"""Lists: newest first, a page at a time, stable while rows are added (CONTRACT section 2).

A cursor names the position of the last row that was shown, so a store asks for what comes
after it. It is opaque and carries a check, so that a cursor that was cut, or made for another
list, is refused instead of silently starting somewhere else. The check is no secret: a cursor
opens nothing that the caller could not list anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Annotated, Generic, Never, TypeVar
from uuid import UUID

from pydantic import Field

from attestlab.core.errors import ValidationFailed
from attestlab.core.shapes import In, Out
from attestlab.core.strict_json import b64url_decode, b64url_encode, parse_uuid

Item = TypeVar("Item")
Row = TypeVar("Row")
Position = Sequence[str | int]

_CHECK_BYTES = 6
_MAX_NUMBER = 2**63 - 1


class PageQuery(In):
    """The query of a list."""

    limit: Annotated[int, Field(ge=1, le=100)] = 50
    cursor: str | None = None


class OffsetPageQuery(PageQuery):
    """The query of a list that can also be counted into; a cursor goes before an offset."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0

    @property
    def rows_to_skip(self) -> int:
        """How many rows to leave out behind the cursor: none where there is one."""
        return 0 if self.cursor is not None else self.offset


class Page(Out, Generic[Item]):
    """One page; `next_cursor` is null at the end."""

    items: list[Item]
    next_cursor: str | None


def split_page(
    rows: Sequence[Row], *, limit: int, kind: str, position: Callable[[Row], Position]
) -> tuple[Sequence[Row], str | None]:
    """The rows to show and the cursor to what follows, of up to `limit + 1` rows that a store found."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], encode_cursor(kind, position(rows[limit - 1]))


def encode_cursor(kind: str, position: Position) -> str:
    """The cursor for what comes after `position` in the list named `kind`."""
    text = json.dumps(list(position), separators=(",", ":")).encode()
    return b64url_encode(_checksum(kind, text) + text)


def decode_position(kind: str, cursor: str) -> list[str | int]:
    """The position that `cursor` names.

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
    """The number that a cursor names, for a list in the order of one; None without a cursor.

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
    """The id that a cursor names, for a list in the order of one; None without a cursor.

    Raises:
        ValidationFailed: it is not a cursor of this list.
    """
    if cursor is None:
        return None
    (text, *rest) = decode_position(kind, cursor)
    try:
        found = parse_uuid(str(text))
    except ValidationFailed:
        _reject_cursor()
    if rest:
        _reject_cursor()
    return found


def _checksum(kind: str, text: bytes) -> bytes:
    return sha256(kind.encode() + b"\x00" + text).digest()[:_CHECK_BYTES]


def _reject_cursor() -> Never:
    raise ValidationFailed.of("/cursor", "cursor", "This is not a cursor of this list; start again without one.")
