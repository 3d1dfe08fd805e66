"""Encodings of bytes, UUIDs and times as text: base64, base64url, RFC 9562 and RFC 3339.

base64url is RFC 4648 section 5 with a single encoding of each value. The parsers are
strict: a text that has another form is rejected, with a message that explains how to send it.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode, urlsafe_b64decode
from binascii import b2a_base64
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Never
from uuid import UUID

from attestlab.core.clock import truncate_to_milliseconds
from attestlab.core.errors import ValidationFailed

_MAX_QUOTED_CHARACTERS = 40
_MAX_NAME_CHARS = 64  # of a member in a pointer
_MIDNIGHT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.24:")
_SECONDS = slice(17, 19)  # of an RFC 3339 time
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_NOT_BASE64URL = re.compile(r"[^A-Za-z0-9_-]")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_AS_WRITTEN = re.compile(  # the offset may have lost its plus sign, which a query writes as %2B
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9:.]+) ?([Zz]|[+-][0-9]{2}:[0-9]{2}|(?<= )[0-9]{2}:[0-9]{2})"
)
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def b64_encode(raw: bytes) -> str:
    """Encode bytes as padded base64 (RFC 4648 section 4)."""
    return b64encode(raw).decode("ascii")


def b64_decode(text: str) -> bytes:
    """Decode padded base64, which must be canonical.

    Raises:
        ValueError: the text is not base64, or not canonical.
    """
    try:
        raw = b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError("not base64") from error
    if b64_encode(raw) != text:
        raise ValueError("not canonical base64: its padding is wrong, or bits beyond the last byte are not zero")
    return raw


def b64url_encode(raw: bytes) -> str:
    """Encode bytes as base64url without padding."""
    return b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=").decode("ascii")


def b64url_decode(text: str, *, field: str = "") -> bytes:
    """Decode base64url, unpadded or correctly padded.

    Raises:
        ValidationFailed: another alphabet, white space, a wrong length or padding, or
            trailing bits that are not zero.
    """
    digits = text.rstrip("=")
    try:
        raw = urlsafe_b64decode(digits + "=" * (-len(digits) % 4))
    except ValueError:
        _refuse_base64url(digits, field)
    # The decoder skips unknown characters; only the canonical encoding survives a round trip unchanged.
    if b64url_encode(raw) != digits:
        _refuse_base64url(digits, field)
    if len(text) != len(digits) and len(text) != len(digits) + (-len(digits) % 4):
        _refuse("base64url", "The base64url padding is wrong; leave it out.", field)
    return raw


def parse_uuid(text: str, *, field: str = "") -> UUID:
    """Parse a UUID in its 36-character form, in either case; no braces, no `urn:uuid:`.

    Raises:
        ValidationFailed: it has another form.
    """
    if not _UUID.fullmatch(text):
        _refuse("uuid", f"{quote(text)} is not a UUID of the form 0193b5a0-7f3c-7abc-8def-0123456789ab.", field)
    return UUID(text)


def parse_sent_time(text: str, *, field: str = "") -> datetime:
    """Parse a time of a request, which may have a space for the T, as RFC 3339 section 5.6 lets applications choose.

    A space before the offset is left out, or stands for the plus sign that a query string turns into a space. What is
    signed or logged has one spelling, that of `parse_time`.

    >>> {parse_sent_time(text).isoformat() for text in ("2026-01-02 03:04:05z", "2026-01-02T05:04:05 02:00")}
    {'2026-01-02T03:04:05+00:00'}

    Raises:
        ValidationFailed: it is no such time, or out of range.
    """
    found = _AS_WRITTEN.fullmatch(text)
    if found is None:
        return parse_time(text, field=field)
    day, clock, offset = found.groups()
    return parse_time(f"{day}T{clock}{'+' if offset[0].isdigit() else ''}{offset}", field=field)


def parse_time(text: str, *, field: str = "") -> datetime:
    """Parse an RFC 3339 timestamp with an offset to an aware time in UTC, truncated to milliseconds.

    A leap second, 23:59:60 UTC, is the second after it, because no clock here has a name for it (RFC 3339 section 5.7).

    Raises:
        ValidationFailed: it is not such a timestamp, or its time is out of range.
    """
    if not _TIME.fullmatch(text):
        _refuse_time(text, field)
    if text[_SECONDS] == "60":
        return _parse_leap_second(text, field)
    try:
        return truncate_to_milliseconds(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError):
        _refuse_time(text, field)


def _parse_leap_second(text: str, field: str) -> datetime:
    last = parse_time(f"{text[: _SECONDS.start]}59{text[_SECONDS.stop :]}", field=field)
    if (last.hour, last.minute) != (23, 59):
        _refuse("time", f"{quote(text)} has a second 60, which only 23:59 in UTC may have. Send 59 or less.", field)
    try:
        return last + timedelta(seconds=1)
    except OverflowError:
        _refuse_time(text, field)


@lru_cache(maxsize=256)  # all rows of a transaction have the same time, so one time is formatted often
def format_time(at: datetime) -> str:
    """Format a time as `2026-01-02T03:04:05.678Z`: UTC, always three decimals, further digits truncated.

    Raises:
        ValueError: the time has no UTC offset, so it is ambiguous.
    """
    if at.utcoffset() is None:
        raise ValueError(f"{at!r} has no UTC offset. Pass an aware datetime.")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def json_pointer(*parts: object) -> str:
    """Return the pointer to a place in a JSON value from its names and indexes (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def short_pointer(*parts: object) -> str:
    """Return the pointer to a place in what a client sent; long names are truncated, as a response repeats it."""
    return json_pointer(*(_truncate_name(part) if isinstance(part, str) else part for part in parts))


def _truncate_name(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}..."


def quote(text: str) -> str:
    """Quote a text for a message: truncated, and escaped so that it can be sent and logged."""
    return ascii(text if len(text) <= _MAX_QUOTED_CHARACTERS else text[:_MAX_QUOTED_CHARACTERS] + "...")


def _refuse_base64url(digits: str, field: str) -> Never:
    if invalid := _NOT_BASE64URL.search(digits):
        character = f"{quote(invalid.group())} at character {invalid.start()}"
        _refuse("base64url", f"{character} is not base64url; the alphabet is A-Z a-z 0-9 - _, unpadded.", field)
    if len(digits) % 4 == 1:
        _refuse("base64url", f"{len(digits)} base64url characters do not encode a whole number of bytes.", field)
    _refuse("base64url", "The last base64url character has bits beyond the last byte; they must be zero.", field)


def _refuse_time(text: str, field: str) -> Never:
    if _MIDNIGHT.match(text):
        _refuse("time", f"{quote(text)} has an hour 24. Send 00:00:00 of the next day.", field)
    _refuse("time", f"{quote(text)} is not an RFC 3339 time with an offset, such as 2026-01-02T03:04:05Z.", field)


def _refuse(code: str, message: str, field: str) -> Never:
    raise ValidationFailed.of(field, code, message)
