"""What an export says of times, states and indexes; over values.

Bitstrings and what a list says of itself follow the W3C Recommendation Bitstring Status List v1.0,
sections 2 and 7. An attestation's index is its index in the log: it never changes, is never given
twice, and whoever reads the log can tell it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from attestlab.attestations.rules import Verdict
from attestlab.core.errors import Conflict, PermissionDenied
from attestlab.core.strict_json import b64url_encode
from attestlab.issuers.rules import IssuerStatus

MIN_LIST_BITS = 131_072  # 16 KiB; a shorter list would tell too much of the few that are in it
PURPOSE = "revocation"
TTL = timedelta(minutes=1)  # how long a list may be kept; as often the log says what changed
STATUS_LIST_MAX_AGE = timedelta(days=1)  # how long a list that cannot be fetched anew is better than none


def list_length(newest_index: int | None) -> int:
    """How many bits a list has whose newest attestation is at this index; doubling, so that it changes seldom.

    >>> length_of(None), length_of(131_071), length_of(131_072)
    (131072, 131072, 262144)
    """
    bits = MIN_LIST_BITS
    while newest_index is not None and newest_index >= bits:
        bits *= 2
    return bits


def bitstring(indexes: Iterable[int], *, bits: int) -> bytes:
    """A string of `bits` bits with those at `indexes` set; index 0 is the left-most bit of the first byte.

    >>> bitstring([0, 9], bits=16).hex()
    '8040'
    """
    octets = bytearray(bits // 8)
    for index in indexes:
        octets[index >> 3] |= 0x80 >> (index & 7)
    return bytes(octets)


def encode_bitstring(bits: bytes) -> str:
    """Multibase base64url (`u`) of the GZIP of a bitstring; equal bits, equal text."""
    return "u" + b64url_encode(gzip.compress(bits, mtime=0))


def start_of_hour(now: datetime) -> datetime:
    """The hour that has begun: a list that nothing changed is the same, byte for byte, for that long."""
    return now.replace(minute=0, second=0, microsecond=0)


def numeric_date(at: datetime) -> int:
    """A NumericDate (RFC 7519 section 2) in whole seconds; a part of one is left out."""
    return int(at.timestamp())


def format_whole_seconds(at: datetime) -> str:
    """The same moment in RFC 3339: badge software compares the two.

    >>> whole_seconds(datetime(2026, 11, 21, 12, 0, 0, 999_000, tzinfo=UTC))
    '2026-11-21T12:00:00Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_entry(list_url: str, index: int) -> dict[str, str]:
    """Where a credential's status stands: a BitstringStatusListEntry."""
    return {
        "id": f"{list_url}#{index}",
        "type": "BitstringStatusListEntry",
        "statusPurpose": PURPOSE,
        "statusListIndex": str(index),
        "statusListCredential": list_url,
    }


def require_valid(verdict: Verdict) -> None:
    """Only what verifies as VALID is exported: a copy must not look fresher than the attestation.

    Raises:
        Conflict: it is not.
    """
    if verdict is not Verdict.VALID:
        raise Conflict(
            f"The attestation verifies as {verdict.value}; only a VALID one is exported.",
            details={"reason": "not_valid", "verdict": verdict.value},
        )


def require_active(issuer: IssuerStatus) -> None:
    """An export is signed anew in the issuer's name, which takes what a mint takes.

    Raises:
        PermissionDenied: the issuer is suspended or revoked.
    """
    if issuer is not IssuerStatus.ACTIVE:
        raise PermissionDenied(
            f"The issuer is {issuer.value}; only for an ACTIVE one are exports signed.",
            details={"reason": "issuer_not_active", "issuer_status": issuer.value},
        )
