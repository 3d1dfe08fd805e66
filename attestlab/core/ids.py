"""Identifiers: UUIDv7 (RFC 9562) and ULID. Both begin with their time, so new rows go to the end of an index."""

from __future__ import annotations

import os
from datetime import datetime
from functools import lru_cache
from uuid import UUID, SafeUUID

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base32
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]  # ten bits each
_RANDOM_BYTES = 10
_BATCH_SIZE = 64
_VERSION_7 = 7 << 76 | 0b10 << 62  # with the variant of RFC 9562
_RANDOM_MASK = ~(0xF << 76 | 0b11 << 62)
_set_int, _set_is_safe = (vars(UUID)[slot].__set__ for slot in ("int", "is_safe"))
_UNKNOWN = SafeUUID.unknown  # looked up once: the look-up of an enum member costs as much as everything else
_pool: list[int] = []
os.register_at_fork(after_in_child=_pool.clear)  # parent and child must not use the same random numbers


def new_id(at: datetime) -> UUID:
    """Create a UUIDv7 for the moment `at`: 48 bits of milliseconds, then 74 random bits."""
    return uuid_from_int(_milliseconds(at) << 80 | _random_bits() & _RANDOM_MASK | _VERSION_7)


def uuid_from_int(value: int) -> UUID:
    """Build a `UUID` without validation, faster than `UUID(int=value)`.

    It sets the slots directly, because `UUID` blocks attribute assignment.
    """
    uuid = UUID.__new__(UUID)
    _set_int(uuid, value)
    _set_is_safe(uuid, _UNKNOWN)
    return uuid


def new_ulid(at: datetime) -> str:
    """Create a ULID (github.com/ulid/spec) for the moment `at`: 48 bits of milliseconds, 80 random bits."""
    bits = _random_bits()
    first = f"{_PAIRS[bits >> 70]}{_PAIRS[bits >> 60 & 1023]}{_PAIRS[bits >> 50 & 1023]}"
    middle = f"{_PAIRS[bits >> 40 & 1023]}{_PAIRS[bits >> 30 & 1023]}{_PAIRS[bits >> 20 & 1023]}"
    return f"{_encode_time(_milliseconds(at))}{first}{middle}{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits & 1023]}"


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@lru_cache(maxsize=64)  # many ULIDs are created in the same millisecond
def _encode_time(milliseconds: int) -> str:
    return "".join([_PAIRS[milliseconds >> place & 1023] for place in range(40, -1, -10)])


def _random_bits() -> int:
    """Return 80 random bits, each used once.

    They are drawn in batches: each draw is a system call that releases the interpreter lock, and a busy
    server would wait for the lock at every id. `pop` is atomic, so threads can share the pool.
    """
    try:
        return _pool.pop()
    except IndexError:
        raw = os.urandom(_BATCH_SIZE * _RANDOM_BYTES)
        first, *rest = (
            int.from_bytes(raw[start : start + _RANDOM_BYTES]) for start in range(0, len(raw), _RANDOM_BYTES)
        )
        _pool.extend(rest)
        return first
