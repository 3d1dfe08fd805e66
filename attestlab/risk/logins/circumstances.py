"""A login by its fingerprints, and together with what the documents knew when it happened.

The trace has all that a score and the documents need of a login, without a user's name or an address. The detector
reads logins in this form. A past that is loaded is kept in it until it is learnt, so its binary form has the digests
under which a store finds the documents, and the fingerprints that documents remember.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from attestlab.risk.logins.documents import CrowdActivity, DetectorDocument, DocumentKey, SourceActivity, find_current
from attestlab.risk.logins.login import Login, classify_client, fingerprint
from attestlab.risk.logins.places import Locator
from attestlab.risk.logins.user_documents import MISSING, FailureHistory, UserProfile

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


SOURCES_OF_ONE = ("device", "address")
SOURCES = (*SOURCES_OF_ONE, "network")
CROWDS = ("client", "country", "tenant")
_TENANT = DocumentKey("tenant", "")


class LoginEvidence(NamedTuple):
    """One reason to suspect a login.

    `strength` is the natural logarithm of a likelihood ratio: how much more probable this is under an attack.
    """

    name: str
    value: float
    strength: float
    explanation: str


@dataclass(frozen=True, slots=True)
class Circumstances:
    """A login, the fingerprints of its values, and its documents; a missing document is an empty one."""

    login: LoginTrace
    at_ms: int
    user: int
    country: str | None
    values: dict[str, int | None]
    keys: dict[str, DocumentKey]
    profile: UserProfile
    failures: FailureHistory
    sources: dict[str, SourceActivity]
    crowds: dict[str, CrowdActivity]

    def knows(self, feature: str) -> bool:
        """Whether the user had a success with this login's value of a feature before."""
        return self.profile.is_known(feature, self.values[feature], self.at_ms)

    @property
    def has_known_device(self) -> bool:
        """Whether the login comes from a device of the user; a missing id is no device."""
        return self.values["device"] != MISSING and self.knows("device")


def find_keys(login: Login, locator: Locator) -> dict[str, DocumentKey]:
    """Return the keys of the documents that a login needs, by their kind; at most eight."""
    place = locator.locate(login.ip) if login.ip else None
    found = {
        "user": login.subject_id,
        "failures": login.subject_id,
        "device": login.device_id,
        "address": login.ip,
        "network": place and place.network,
        "client": classify_client(login.user_agent) if login.user_agent else None,
        "country": login.country or (place and place.country),
    }
    return {**{kind: DocumentKey(kind, value) for kind, value in found.items() if value}, "tenant": _TENANT}


def describe_login(login: LoginTrace, documents: Mapping[DocumentKey, DetectorDocument]) -> Circumstances:
    """Assemble the circumstances of a login; a document that had expired by then is a missing one."""
    found = {kind: find_current(documents, key, login.at_ms) for kind, key in login.keys.items()}
    profile, failures = found["user"], found["failures"]
    return Circumstances(
        login=login,
        at_ms=login.at_ms,
        user=login.user,
        country=login.country,
        values=login.values,
        keys=login.keys,
        profile=profile if isinstance(profile, UserProfile) else UserProfile(),
        failures=failures if isinstance(failures, FailureHistory) else FailureHistory(),
        sources={kind: _source(found[kind]) for kind in SOURCES if kind in found},
        crowds={kind: _crowd(found[kind]) for kind in CROWDS if kind in found},
    )


def _source(document: DetectorDocument | None) -> SourceActivity:
    return document if isinstance(document, SourceActivity) else SourceActivity()


def _crowd(document: DetectorDocument | None) -> CrowdActivity:
    return document if isinstance(document, CrowdActivity) else CrowdActivity()
