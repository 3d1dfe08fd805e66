"""Canonical JSON (RFC 8785, JCS): the one sequence of bytes of a value, for hashing and signing.

The library `rfc8785` is the reference. Most documents need none of its care: where
every number is written alike by Python and by JCS and no key lies outside of the Basic
Multilingual Plane, `orjson` gives the same bytes twenty times faster.
"""

from __future__ import annotations

import re
from hashlib import sha256
from types import NoneType

import orjson

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER, b64url_encode

_PLAIN_SCALARS = frozenset({str, bool, NoneType})
_ASTRAL = re.compile(rb"[\xf0-\xf4]")  # the first byte, in UTF-8, of what JCS sorts as a surrogate pair


def canonical(value: object) -> bytes:
    """The RFC 8785 form, in UTF-8, of what `parse_json` gives: dict, list or tuple, str, int, float, bool, None.

    Raises:
        ValidationFailed: a JSON value outside of I-JSON: an integer beyond 2^53 - 1, NaN,
            an infinity, a lone surrogate, or endless nesting.
        TypeError: no JSON value: bytes, a datetime, a set, a key that is not a string.
    """
    try:
        if _is_plain(value) and (text := _by_orjson(value)) is not None:
            return text
        return _by_reference(value)
    except UnicodeEncodeError:
        raise _refusal("a string holds a lone surrogate") from None
    except RecursionError:
        raise _refusal("it is nested too deep") from None


def canonical_own(value: object) -> bytes:
    """`canonical` for a document that this package composed itself, faster for not being checked.

    Its keys are ASCII, its values text, booleans, None, whole numbers below 2^53, and lists and
    objects of them; for such documents the two are the same. Ids and times in UTC count as the
    text that `str` and `isoformat` give.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256_b64url(raw: bytes) -> str:
    """The SHA-256 of `raw` as 43 base64url characters."""
    return b64url_encode(sha256(raw).digest())


def sha256_hex(raw: bytes) -> str:
    """The SHA-256 of `raw` as 64 lowercase hex digits."""
    return sha256(raw).hexdigest()


def _is_plain(value: object) -> bool:
    """Whether orjson writes it as JCS does, astral keys aside (those show in what was written).

    Exact types only: a subclass may write itself in its own way.
    """
    if type(value) is dict:
        for key, member in value.items():
            if type(key) is not str or not (type(member) in _PLAIN_SCALARS or _is_plain(member)):
                return False
        return True
    if type(value) is list:
        return all(type(member) in _PLAIN_SCALARS or _is_plain(member) for member in value)
    return type(value) in _PLAIN_SCALARS or _is_plain_number(value)


def _is_plain_number(value: object) -> bool:
    if type(value) is int:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    # Within these bounds both use no exponent, and both give the fewest digits that read back as the same double;
    # outside, and for whole numbers ("1.0" against "1"), they part.
    return type(value) is float and 1e-4 <= abs(value) < 1e16 and not value.is_integer()


def _by_orjson(value: object) -> bytes | None:
    """None where the two might differ, or where orjson refuses: the reference says then what is wrong."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return None
    # JCS sorts by UTF-16 unit, UTF-8 by code point; the two differ only where a surrogate pair takes part.
    return None if _ASTRAL.search(text) else text


def _by_reference(value: object) -> bytes:
    import rfc8785  # loaded late: the offline verifier starts fast and rarely needs it

    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # it refuses by itself what is not JSON
    except (rfc8785.IntegerDomainError, rfc8785.FloatDomainError) as error:
        raise _refusal(str(error)) from None
    except rfc8785.CanonicalizationError as error:
        if isinstance(error.__cause__, UnicodeEncodeError):
            raise _refusal("a string holds a lone surrogate") from None
        raise TypeError(f"not a JSON value: {error}") from None


def _refusal(reason: str) -> ValidationFailed:
    return ValidationFailed.of("", "not_canonical", f"The value has no canonical form: {reason}.")
