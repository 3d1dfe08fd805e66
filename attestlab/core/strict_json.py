"""Strict parser of JSON: RFC 8259 in UTF-8 within the limits of I-JSON (RFC 7493).

No duplicate members, no lone surrogates, integers within 2^53 - 1, and a bounded depth.

If two parsers read the same body differently, an attacker can bypass a check. So ambiguous
input is rejected, with a message that explains how to send it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Never

from attestlab.core.encoding import quote, short_pointer
from attestlab.core.errors import ValidationFailed

MAX_DEPTH = 64
MAX_VALUES = 100_000  # members and elements of a request body; reading that many takes some 30 ms
MAX_SAFE_INTEGER = 2**53 - 1  # the largest integer that a double, and so every JSON reader, represents exactly
_MAX_INTEGER_DIGITS = len(str(-MAX_SAFE_INTEGER))

# From here on RFC 8785 writes an exponent; below it a whole number is written in digits, as if it were exact.
_FIRST_WITH_EXPONENT = 1e21

_UTF16_OR_32 = re.compile(rb"\xfe\xff|\xff\xfe|\x00|.\x00", re.DOTALL)
# The closing quote is optional so that an unterminated string matches once, not once for each quote in it.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
# Up to 1,000 strings and what is between them.
_FEW_STRINGS = re.compile(rb'[^"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"]*+){0,1000}+', re.DOTALL)
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as an escape, not after an escaped backslash
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # PostgreSQL stores neither U+0000 nor half of a surrogate pair
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # read as signed bytes: +1 and -1


def parse_json(raw: bytes, *, max_depth: int = MAX_DEPTH) -> object:
    """Parse strict JSON to dict, list, str, int, float, bool or None.

    `canonical` can serialize every result, and parsing that gives the same value.

    Raises:
        ValidationFailed: it is not strict JSON. The field is the pointer to a text that cannot be stored; for other
            faults it is "" (the whole body), and the message gives the position if it is known.
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
    if _count_values(raw) > max_values and _count_values(_remove_strings(raw)) > max_values:
        _refuse("too_many", f"The body has more than {max_values:,} members and elements; send fewer.")


def _count_values(raw: bytes) -> int:
    """Return an upper bound of the members and elements: each follows a comma or opens an array or object."""
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _remove_strings(raw: bytes) -> bytes:
    """Return a JSON text without its strings, exact at least up to the first syntax error.

    1 MiB can hold 150,000 strings. Removed at once they would keep every other thread waiting for a tenth of a second.
    """
    kept, at = bytearray(), 0
    while at < len(raw):
        found = _FEW_STRINGS.match(raw, at)
        end = found.end() if found and found.end() > at else len(raw)  # a string that does not end
        kept += _STRING.sub(b"", raw[at:end])
        at = end
    return bytes(kept)


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        _refuse_duplicate([name for name, _ in pairs])
    return members


def _parse_integer(digits: str) -> int:
    # Length first: Python rejects very long numbers with its own error, and parses long ones slowly.
    if len(digits) <= _MAX_INTEGER_DIGITS and -MAX_SAFE_INTEGER <= (value := int(digits)) <= MAX_SAFE_INTEGER:
        return value
    _refuse("number", f"The integer {quote(digits)} is beyond 2^53 - 1 and would lose digits; send it as a string.")


def _parse_number(digits: str) -> float:
    value = float(digits)
    if MAX_SAFE_INTEGER < abs(value) < _FIRST_WITH_EXPONENT:
        _refuse("number", f"The number {quote(digits)} is beyond 2^53 - 1 and would lose digits; send it as a string.")
    if abs(value) == float("inf"):
        _refuse("number", f"The number {quote(digits)} is too large for a double; send it as a string.")
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
    steps = _remove_strings(raw).translate(_STEPS, _NOT_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _require_valid_characters(value: object) -> None:
    """Refuse a string with U+0000 or half of a surrogate pair, and point to it.

    Of a member whose name is such a string, the error points to the object.
    """
    text = json.dumps(value, ensure_ascii=False)
    if not (UNSTORABLE.search(text) or _NUL.search(text)):  # this is fast, and nearly all values pass
        return
    for string, path in _walk_strings(value):
        if found := UNSTORABLE.search(string):
            code, message = _describe_character(found.group())
            raise ValidationFailed.of(short_pointer(*path), code, message)


def _walk_strings(value: object) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    """Yield each string of a value with its path, and the name of each member with the path of its object."""
    ahead: list[tuple[object, tuple[int | str, ...]]] = [(value, ())]
    while ahead:
        found, path = ahead.pop()
        if isinstance(found, str):
            yield found, path
        elif isinstance(found, dict):
            yield from ((name, path) for name in found)
            ahead += [(member, (*path, name)) for name, member in reversed(found.items())]
        elif isinstance(found, list):
            ahead += [(found[index], (*path, index)) for index in reversed(range(len(found)))]


def _describe_character(character: str) -> tuple[str, str]:
    if character == "\0":
        return "nul", "The text contains U+0000, which database text cannot store; remove it."
    half = f"\\u{ord(character):04x}"
    return "lone_surrogate", f"{half} is half of a surrogate pair; send both halves or the character itself."


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
    _refuse("duplicate_member", f"Duplicate object member {quote(duplicate)}; send it once.")


def _refuse(code: str, message: str) -> Never:
    raise ValidationFailed.of("", code, message)
