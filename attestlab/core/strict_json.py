"""Strict parsers of all input: JSON, base64url, UUIDs and times.

JSON is RFC 8259 in UTF-8 within the limits of I-JSON (RFC 7493): no duplicate members,
no lone surrogates, integers within 2^53 - 1, and a bounded depth. base64url is RFC 4648
section 5 with a single encoding of each value. UUIDs are RFC 9562, times RFC 3339.

If two parsers read the same body differently, an attacker can bypass a check. So ambiguous
input is rejected, with a message that explains how to send it.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections import Counter
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from typing import Never
from uuid import UUID

from attestlab.core.clock import truncate_to_milliseconds
from attestlab.core.errors import ValidationFailed

MAX_DEPTH = 64
MAX_VALUES = 100_000  # members and elements of a request body; reading that many takes some 30 ms
MAX_SAFE_INTEGER = 2**53 - 1  # the largest integer that a double, and so every JSON reader, represents exactly
_MAX_INTEGER_DIGITS = len(str(-MAX_SAFE_INTEGER))
_MAX_QUOTED_CHARACTERS = 40

# From here on RFC 8785 writes an exponent; below it a whole number is written in digits, as if it were exact.
_FIRST_WITH_EXPONENT = 1e21

_UTF16_OR_32 = re.compile(rb"\xfe\xff|\xff\xfe|\x00|.\x00", re.DOTALL)
# The closing quote is optional so that an unterminated string matches once, not once for each quote in it.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # as an escape, not after an escaped backslash
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # read as signed bytes: +1 and -1

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_NOT_BASE64URL = re.compile(r"[^A-Za-z0-9_-]")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def parse_json(raw: bytes, *, max_depth: int = MAX_DEPTH) -> object:
    """Parse strict JSON to dict, list, str, int, float, bool or None.

    `canonical` can serialize every result, and parsing that gives the same value.

    Raises:
        ValidationFailed: it is not strict JSON; the field is "" (the whole body), and
            the message gives the position of the error if it is known.
    """
    try:
        text = raw.decode("utf-8")
        # This count includes brackets inside strings; only a body that exceeds it is measured exactly.
        if raw.count(b"{") + raw.count(b"[") > max_depth and _depth(raw) > max_depth:
            _refuse("too_deep", f"Arrays and objects are nested more than {max_depth} deep; send a flatter value.")
        value = _DECODER.decode(text)
        if b"\\ud" in raw or b"\\uD" in raw or b"\\u0000" in raw:
            _require_valid_characters(value)
    except UnicodeDecodeError as error:
        _refuse_encoding(raw, error)
    except json.JSONDecodeError as error:
        _refuse_syntax(raw, error)
    except RecursionError:
        _refuse("too_deep", "Arrays and objects are nested too deep; send a flatter value.")
    return value


def require_value_count(raw: bytes, *, max_values: int = MAX_VALUES) -> None:
    """Reject a JSON text with more than `max_values` members and elements, before parsing it.

    Raises:
        ValidationFailed: it has more.
    """
    if _count_values(raw) > max_values and _count_values(_STRING.sub(b"", raw)) > max_values:
        _refuse("too_many", f"The body has more than {max_values:,} members and elements; send fewer.")


def _count_values(raw: bytes) -> int:
    """Return an upper bound of the members and elements: each follows a comma or opens an array or object."""
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


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
        _refuse("uuid", f"{_quote(text)} is not a UUID of the form 0193b5a0-7f3c-7abc-8def-0123456789ab.", field)
    return UUID(text)


def parse_time(text: str, *, field: str = "") -> datetime:
    """Parse an RFC 3339 timestamp with an offset to an aware time in UTC, truncated to milliseconds.

    Raises:
        ValidationFailed: it is not such a timestamp, or its time is out of range.
    """
    if not _TIME.fullmatch(text):
        _refuse_time(text, field)
    try:
        return truncate_to_milliseconds(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError):
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


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        _refuse_duplicate([name for name, _ in pairs])
    return members


def _parse_integer(digits: str) -> int:
    # Length first: Python rejects very long numbers with its own error, and parses long ones slowly.
    if len(digits) <= _MAX_INTEGER_DIGITS and -MAX_SAFE_INTEGER <= (value := int(digits)) <= MAX_SAFE_INTEGER:
        return value
    _refuse("number", f"The integer {_quote(digits)} is beyond 2^53 - 1 and would lose digits; send it as a string.")


def _parse_number(digits: str) -> float:
    value = float(digits)
    if MAX_SAFE_INTEGER < abs(value) < _FIRST_WITH_EXPONENT:
        _refuse("number", f"The number {_quote(digits)} is beyond 2^53 - 1 and would lose digits; send it as a string.")
    if abs(value) == float("inf"):
        _refuse("number", f"The number {_quote(digits)} is too large for a double; send it as a string.")
    return value


def _refuse_constant(name: str) -> Never:
    _refuse("number", f"{name} is not JSON; send null or a string.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_int=_parse_integer,
    parse_float=_parse_number,
    parse_constant=_refuse_constant,
)


def _depth(raw: bytes) -> int:
    """Return the nesting depth of the brackets outside strings, exact at least up to the first syntax error."""
    steps = _STRING.sub(b"", raw).translate(_STEPS, _NOT_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _require_valid_characters(value: object) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        _refuse("lone_surrogate", f"{half} is half of a surrogate pair; send both halves or the character itself.")
    if _NUL.search(text):
        _refuse("nul", "A string contains U+0000, which database text cannot store; remove it.")


def _refuse_encoding(raw: bytes, error: UnicodeDecodeError) -> Never:
    if _UTF16_OR_32.match(raw):
        _refuse("not_utf8", "The body looks like UTF-16 or UTF-32; send UTF-8 without a byte order mark.")
    _refuse("not_utf8", f"The body is not UTF-8 ({error.reason} at byte {error.start}); send UTF-8.")


def _refuse_syntax(raw: bytes, error: json.JSONDecodeError) -> Never:
    if raw.startswith(b"\xef\xbb\xbf"):
        _refuse("malformed_json", "The body begins with a byte order mark; send UTF-8 without one.")
    if _UTF16_OR_32.match(raw):
        _refuse("not_utf8", "The body looks like UTF-16 or UTF-32; send UTF-8 without a byte order mark.")
    if not raw.strip():
        _refuse("malformed_json", "The body is empty; send a JSON value.")
    _refuse("malformed_json", f"The body is not JSON: {error.msg} at line {error.lineno} column {error.colno}.")


def _refuse_duplicate(names: list[str]) -> Never:
    duplicate = next(name for name, count in Counter(names).items() if count > 1)
    _refuse("duplicate_member", f"Duplicate object member {_quote(duplicate)}; send it once.")


def _refuse_base64url(digits: str, field: str) -> Never:
    if invalid := _NOT_BASE64URL.search(digits):
        character = f"{_quote(invalid.group())} at character {invalid.start()}"
        _refuse("base64url", f"{character} is not base64url; the alphabet is A-Z a-z 0-9 - _, unpadded.", field)
    if len(digits) % 4 == 1:
        _refuse("base64url", f"{len(digits)} base64url characters do not encode a whole number of bytes.", field)
    _refuse("base64url", "The last base64url character has bits beyond the last byte; they must be zero.", field)


def _refuse_time(text: str, field: str) -> Never:
    _refuse("time", f"{_quote(text)} is not an RFC 3339 time with an offset, such as 2026-01-02T03:04:05Z.", field)


def _refuse(code: str, message: str, field: str = "") -> Never:
    raise ValidationFailed.of(field, code, message)


def _quote(text: str) -> str:
    """Quote a text for a message: truncated, and escaped so that it can be sent and logged."""
    return ascii(text if len(text) <= _MAX_QUOTED_CHARACTERS else text[:_MAX_QUOTED_CHARACTERS] + "...")
