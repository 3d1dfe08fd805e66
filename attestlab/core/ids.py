"""Identifiers: UUIDv7 (RFC 9562) and ULID, both led by their time, so that new rows land at the end of every index."""

from __future__ import annotations

import secrets
from datetime import datetime
from uuid import UUID


def new_id(at: datetime) -> UUID:
    """A fresh UUIDv7 for the moment `at`: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = int(at.timestamp() * 1000)
    chance = secrets.randbits(74)
    value = milliseconds << 80 | 7 << 76 | (chance >> 62) << 64 | 0b10 << 62 | chance & (1 << 62) - 1
    return UUID(int=value)


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


def new_ulid(at: datetime) -> str:
    """A fresh ULID (github.com/ulid/spec) for the moment `at`: 48 bits of milliseconds, 80 random bits."""
    value = int(at.timestamp() * 1000) << 80 | secrets.randbits(80)
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(120, -1, -10)])
