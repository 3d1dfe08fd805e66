"""Identifiers: UUIDv7 (RFC 9562) and ULID. Both begin with their time, so new rows go to the end of an index."""

from __future__ import annotations

import os
from datetime import datetime
from uuid import UUID

from ulid import ULID

_RANDOM_BYTES = 10
_BATCH_SIZE = 64
_VERSION_7 = 7 << 76 | 0b10 << 62  # with the variant of RFC 9562
_RANDOM_MASK = ~(0xF << 76 | 0b11 << 62)
_pool: list[int] = []
os.register_at_fork(after_in_child=_pool.clear)  # parent and child must not use the same random numbers


def new_id(at: datetime) -> UUID:
    """Create a UUIDv7 for the moment `at`: 48 bits of milliseconds, then 74 random bits."""
    return UUID(int=_milliseconds(at) << 80 | _random_bits() & _RANDOM_MASK | _VERSION_7)


def new_ids(at: datetime, count: int) -> list[UUID]:
    """Create UUIDv7s for the moment `at`, whose random bits are one draw."""
    fixed, raw = _milliseconds(at) << 80 | _VERSION_7, os.urandom(_RANDOM_BYTES * count)
    starts = range(0, len(raw), _RANDOM_BYTES)
    return [UUID(int=fixed | int.from_bytes(raw[start : start + _RANDOM_BYTES]) & _RANDOM_MASK) for start in starts]


def new_ulid(at: datetime) -> str:
    """Create a ULID (github.com/ulid/spec) for the moment `at`: 48 bits of milliseconds, 80 random bits."""
    return str(ULID.from_int(_milliseconds(at) << 80 | _random_bits()))


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


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
