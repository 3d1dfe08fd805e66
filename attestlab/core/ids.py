"""Identifiers: UUIDv7 (RFC 9562), so that new rows land at the end of every index."""

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
