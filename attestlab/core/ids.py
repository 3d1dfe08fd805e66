"""Identifiers: UUIDv7 (RFC 9562) and ULID, both led by their time, so that new rows land at the end of every index."""

from __future__ import annotations

import os
from datetime import datetime
from functools import lru_cache
from uuid import UUID, SafeUUID

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base32
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]  # ten bits each
_CHANCE_BYTES = 10
_DRAWN_AT_ONCE = 64
_VERSION_7 = 7 << 76 | 0b10 << 62  # with the variant of RFC 9562
_RANDOM = ~(0xF << 76 | 0b11 << 62)
_set_int, _set_is_safe = (vars(UUID)[slot].__set__ for slot in ("int", "is_safe"))
_UNKNOWN = SafeUUID.unknown  # once: to look an enum's member up costs as much as all the rest
_drawn: list[int] = []
os.register_at_fork(after_in_child=_drawn.clear)  # parent and child must not deal out the same chances


def new_id(at: datetime) -> UUID:
    """A fresh UUIDv7 for the moment `at`: 48 bits of milliseconds, then 74 random bits."""
    return id_of(_milliseconds(at) << 80 | _chance() & _RANDOM | _VERSION_7)


def id_of(value: int) -> UUID:
    """`UUID(int=value)` in a fifth of its time: it checks what is known here, and asks a frozen object nicely."""
    made = UUID.__new__(UUID)
    _set_int(made, value)
    _set_is_safe(made, _UNKNOWN)
    return made


def new_ulid(at: datetime) -> str:
    """A fresh ULID (github.com/ulid/spec) for the moment `at`: 48 bits of milliseconds, 80 random bits."""
    chance = _chance()
    first = f"{_PAIRS[chance >> 70]}{_PAIRS[chance >> 60 & 1023]}{_PAIRS[chance >> 50 & 1023]}"
    then = f"{_PAIRS[chance >> 40 & 1023]}{_PAIRS[chance >> 30 & 1023]}{_PAIRS[chance >> 20 & 1023]}"
    return f"{_spelt(_milliseconds(at))}{first}{then}{_PAIRS[chance >> 10 & 1023]}{_PAIRS[chance & 1023]}"


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@lru_cache(maxsize=64)  # many are made in one millisecond
def _spelt(milliseconds: int) -> str:
    return "".join([_PAIRS[milliseconds >> place & 1023] for place in range(40, -1, -10)])


def _chance() -> int:
    """Eighty random bits, each handed out once.

    Drawn many at once: each draw asks the kernel, and lets go of the interpreter to do so, which
    a busy server pays for with a wait at every id. `pop` is atomic, so threads share them.
    """
    try:
        return _drawn.pop()
    except IndexError:
        raw = os.urandom(_DRAWN_AT_ONCE * _CHANCE_BYTES)
        first, *rest = (int.from_bytes(raw[at : at + _CHANCE_BYTES]) for at in range(0, len(raw), _CHANCE_BYTES))
        _drawn.extend(rest)
        return first
