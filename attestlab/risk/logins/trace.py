"""A login by its fingerprints: all that a score and the documents need of it, without a user's name or an address.

The detector reads logins in this form. A past that is loaded is kept in it until it is learnt, so its binary form has
the digests under which a store finds the documents, and the fingerprints that documents remember.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from struct import Struct

from attestlab.risk.logins.documents import DocumentKey
from attestlab.risk.logins.login import Login, fingerprint
from attestlab.risk.logins.user_documents import MISSING

DIGEST_BYTES = 16
VALUES = ("device", "address", "network", "country", "client")
_KINDS = ("user", "failures", *VALUES, "tenant")  # of the binary form: their order must stay
_NO_VALUES: dict[str, int | None] = {**dict.fromkeys(VALUES), "device": MISSING}
_HEAD = Struct(">QBI2s")
_KEY = Struct(f">B{DIGEST_BYTES}s")
_FINGERPRINT = Struct(">BI")


class TraceEvent(IntEnum):
    """What a trace is of."""

    SUCCESS = 0
    FAILURE = 1
    CONFIRMATION = 2  # that the user's successes until then were the user's own


@dataclass(frozen=True, slots=True)
class LoginTrace:
    """A login, or the confirmation of a user; `keys` names its documents, by their kind."""

    at_ms: int
    event: TraceEvent
    user: int
    country: str | None
    values: dict[str, int | None]
    keys: dict[str, DocumentKey]

    @property
    def is_failure(self) -> bool:
        """Whether the password was wrong."""
        return self.event is TraceEvent.FAILURE


def trace_login(login: Login, keys: dict[str, DocumentKey]) -> LoginTrace:
    """Return the trace of a login, whose documents have these keys."""
    event = TraceEvent.FAILURE if login.is_failure else TraceEvent.SUCCESS
    country = keys["country"].value if "country" in keys else None
    values = {kind: fingerprint(keys[kind].value) if kind in keys else _NO_VALUES[kind] for kind in VALUES}
    return LoginTrace(login.at_ms, event, fingerprint(login.subject_id), country, values, keys)


def trace_confirmation(subject_id: str, at_ms: int) -> LoginTrace:
    """Return the trace of a user's confirmation."""
    keys = {kind: DocumentKey(kind, subject_id) for kind in ("user", "failures")}
    return LoginTrace(at_ms, TraceEvent.CONFIRMATION, fingerprint(subject_id), None, {}, keys)


@lru_cache(maxsize=16_384)  # people come back
def digest_key(key: DocumentKey) -> bytes:
    """Return the name of a document in a store, which names no user and no address."""
    return hashlib.blake2b(f"{key.kind}\n{key.value}".encode(errors="replace"), digest_size=DIGEST_BYTES).digest()


def read_digest(key: DocumentKey) -> bytes:
    """Return the digest that is the value of a key of `unpack_trace`."""
    return bytes.fromhex(key.value)


def digest_trace(packed: bytes) -> bytes:
    """Return the digest of a packed trace: two logins that were equal in everything have the same."""
    return hashlib.blake2b(packed, digest_size=DIGEST_BYTES).digest()


def pack_trace(trace: LoginTrace) -> bytes:
    """Return the binary form of a trace; its keys become digests."""
    keys = [_KEY.pack(_KINDS.index(kind), digest_key(key)) for kind, key in trace.keys.items()]
    prints = [_FINGERPRINT.pack(_KINDS.index(kind), value) for kind, value in trace.values.items() if value is not None]
    head = _HEAD.pack(trace.at_ms, trace.event, trace.user, (trace.country or "").encode())
    return b"".join((head, bytes([len(keys)]), *keys, *prints))


def unpack_trace(packed: bytes) -> LoginTrace:
    """Read the binary form of a trace; the value of each key is the digest in hexadecimal."""
    at_ms, event, user, country = _HEAD.unpack_from(packed)
    start = _HEAD.size + 1
    end = start + packed[start - 1] * _KEY.size
    keys = {_KINDS[kind]: _read_key(kind, digest) for kind, digest in _KEY.iter_unpack(packed[start:end])}
    values = _NO_VALUES | {_KINDS[kind]: value for kind, value in _FINGERPRINT.iter_unpack(packed[end:])}
    return LoginTrace(at_ms, TraceEvent(event), user, country.strip(b"\0").decode() or None, values, keys)


@lru_cache(maxsize=16_384)  # most rows of a slice share their values
def _read_key(kind: int, digest: bytes) -> DocumentKey:
    return DocumentKey(_KINDS[kind], digest.hex())
