"""Identifiers: UUIDv7 (RFC 9562) and ULID, both led by their time, so that new rows land at the end of every index."""

from __future__ import annotations

import os
from datetime import datetime
from uuid import UUID

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base32
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]  # ten bits each
_PLACES = range(120, -1, -10)
_CHANCE_BYTES = 10
_DRAWN_AT_ONCE = 64
_drawn: list[bytes] = []
os.register_at_fork(after_in_child=_drawn.clear)  # parent and child must not deal out the same chances


def new_id(at: datetime) -> UUID:
    """A fresh UUIDv7 for the moment `at`: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = int(at.timestamp() * 1000)
    chance = int.from_bytes(_chance())
    value = milliseconds << 80 | 7 << 76 | (chance >> 68) << 64 | 0b10 << 62 | chance & (1 << 62) - 1
    return UUID(int=value)


def new_ulid(at: datetime) -> str:
    """A fresh ULID (github.com/ulid/spec) for the moment `at`: 48 bits of milliseconds, 80 random bits."""
    value = int(at.timestamp() * 1000) << 80 | int.from_bytes(_chance())
    return "".join([_PAIRS[value >> place & 1023] for place in _PLACES])


def _chance() -> bytes:
    """Ten random bytes, each handed out once.

    Drawn many at once: each draw asks the kernel, and lets go of the interpreter to do so, which
    a busy server pays for with a wait at every id. `pop` is atomic, so threads share them.
    """
    try:
        return _drawn.pop()
    except IndexError:
        drawn = os.urandom(_DRAWN_AT_ONCE * _CHANCE_BYTES)
        first, *rest = (drawn[start : start + _CHANCE_BYTES] for start in range(0, len(drawn), _CHANCE_BYTES))
        _drawn.extend(rest)
        return first
