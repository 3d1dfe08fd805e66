"""Canonical JSON (RFC 8785, JCS): the unique byte sequence of a value, for hashing and signing.

The library `rfc8785` is the reference. For most documents `orjson` gives the same bytes
twenty times faster: those in which Python and JCS write every number alike and no key lies
outside the Basic Multilingual Plane.
"""

from __future__ import annotations

import re
from hashlib import sha256
from types import NoneType

import orjson

from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER

_PLAIN_SCALARS = frozenset({str, bool, NoneType})
_ASTRAL = re.compile(rb"[\xf0-\xf4]")  # first UTF-8 byte of a character that JCS sorts as a surrogate pair


def canonical(value: object) -> bytes:
    """Serialize a JSON value to its RFC 8785 form, in UTF-8.

    The value consists of dict, list or tuple, str, int, float, bool and None, as `parse_json` returns it.

    Raises:
        ValidationFailed: a JSON value outside I-JSON: an integer beyond 2^53 - 1, NaN,
            an infinity, a lone surrogate, or nesting beyond the interpreter's limit.
        TypeError: not a JSON value: bytes, a datetime, a set, a key that is not a string.
    """
    try:
        if _is_plain(value) and (text := _by_orjson(value)) is not None:
            return text
        return _by_reference(value)
    except UnicodeEncodeError:
        raise _refusal("a string holds a lone surrogate") from None
    except RecursionError:
        raise _refusal("it is nested too deep") from None


def canonical_trusted(value: object) -> bytes:
    """Serialize a document that this package built itself, like `canonical` but faster because it is not checked.

    Keys must be ASCII; values must be text, booleans, None, whole numbers below 2^53, or lists and objects of
    these. For such documents the result equals that of `canonical`. Ids and times in UTC are written as
    `str` and `isoformat` write them.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256_b64url(raw: bytes) -> str:
    """Return the SHA-256 of `raw` as 43 base64url characters."""
    return b64url_encode(sha256(raw).digest())


def sha256_hex(raw: bytes) -> str:
    """Return the SHA-256 of `raw` as 64 lowercase hex digits."""
    return sha256(raw).hexdigest()


def _is_plain(value: object) -> bool:
    """Whether orjson serializes a value as JCS does, except for astral keys, which the output shows.

    Accepts exact types only, because a subclass may serialize differently.
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
    # Within these bounds both write no exponent and the fewest digits that read back as the same double;
    # outside, and for whole numbers ("1.0" against "1"), they differ.
    return type(value) is float and 1e-4 <= abs(value) < 1e16 and not value.is_integer()


def _by_orjson(value: object) -> bytes | None:
    """Serialize with orjson; returns None if the result might differ from JCS or orjson rejects the value.

    The reference implementation then decides, and raises the precise error.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return None
    # JCS sorts by UTF-16 unit, UTF-8 by code point; the two differ only where a surrogate pair takes part.
    return None if _ASTRAL.search(text) else text


def _by_reference(value: object) -> bytes:
    import rfc8785  # loaded late: the offline verifier starts fast and rarely needs it

    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # it rejects values that are not JSON itself
    except (rfc8785.IntegerDomainError, rfc8785.FloatDomainError) as error:
        raise _refusal(str(error)) from None
    except rfc8785.CanonicalizationError as error:
        if isinstance(error.__cause__, UnicodeEncodeError):
            raise _refusal("a string holds a lone surrogate") from None
        raise TypeError(f"not a JSON value: {error}") from None


def _refusal(reason: str) -> ValidationFailed:
    return ValidationFailed.of("", "not_canonical", f"The value has no canonical form: {reason}.")
