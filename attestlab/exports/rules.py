"""Rules of exports: times, states and status list indexes, as pure functions.

Bitstrings and the members of a list follow the W3C Recommendation Bitstring Status List v1.0,
sections 2 and 7. An attestation's index is its index in the log: it never changes, is unique, and
any reader of the log can determine it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from attestlab.attestations.rules import Verdict
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict, PermissionDenied
from attestlab.exports.baking.limits import MAX_CREDENTIAL_BYTES
from attestlab.issuers.rules import IssuerStatus

MIN_LIST_BITS = 131_072  # 16 KiB; a shorter list would reveal too much about its few attestations
PURPOSE = "revocation"
TTL = timedelta(minutes=1)  # how long clients may cache a list; the log publishes its status lists as often
STATUS_LIST_MAX_AGE = timedelta(days=1)  # how long a list remains valid if it cannot be fetched again


def list_length(newest_index: int | None) -> int:
    """The number of bits of a list whose newest attestation has this index; it doubles, so it changes rarely.

    >>> list_length(None), list_length(131_071), list_length(131_072)
    (131072, 131072, 262144)
    """
    bits = MIN_LIST_BITS
    while newest_index is not None and newest_index >= bits:
        bits *= 2
    return bits


def bitstring(indexes: Iterable[int], *, bits: int) -> bytes:
    """Build a bitstring of `bits` bits with those at `indexes` set; index 0 is the left-most bit of the first byte.

    >>> bitstring([0, 9], bits=16).hex()
    '8040'
    """
    octets = bytearray(bits // 8)
    for index in indexes:
        octets[index >> 3] |= 0x80 >> (index & 7)
    return bytes(octets)


def encode_bitstring(bits: bytes) -> str:
    """Encode a bitstring as multibase base64url (`u`) of its GZIP; deterministic."""
    return "u" + b64url_encode(gzip.compress(bits, mtime=0))


def start_of_hour(now: datetime) -> datetime:
    """Truncate a time to the hour, so that an unchanged list stays byte-identical for that long."""
    return now.replace(minute=0, second=0, microsecond=0)


def numeric_date(at: datetime) -> int:
    """Convert a time to a NumericDate (RFC 7519 section 2), truncated to whole seconds."""
    return int(at.timestamp())


def format_whole_seconds(at: datetime) -> str:
    """Format a time in RFC 3339, truncated to whole seconds; badge software compares it with the NumericDate.

    >>> format_whole_seconds(datetime(2026, 11, 21, 12, 0, 0, 999_000, tzinfo=UTC))
    '2026-11-21T12:00:00Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_entry(list_url: str, index: int) -> dict[str, str]:
    """Build the BitstringStatusListEntry that points to a credential's status."""
    return {
        "id": f"{list_url}#{index}",
        "type": "BitstringStatusListEntry",
        "statusPurpose": PURPOSE,
        "statusListIndex": str(index),
        "statusListCredential": list_url,
    }


def require_valid(verdict: Verdict) -> None:
    """Require that the attestation verifies as VALID: an export must not appear more valid than its attestation.

    Raises:
        Conflict: the verdict is another one.
    """
    if verdict is not Verdict.VALID:
        raise Conflict(
            f"The attestation verifies as {verdict.value}; only a VALID attestation can be exported.",
            details={"reason": "not_valid", "verdict": verdict.value},
        )


def require_active(issuer: IssuerStatus) -> None:
    """Require an ACTIVE issuer, as for a mint, because an export is a new signature in the issuer's name.

    Raises:
        PermissionDenied: the issuer is suspended or revoked.
    """
    if issuer is not IssuerStatus.ACTIVE:
        raise PermissionDenied(
            f"The issuer is {issuer.value}; exports are signed for ACTIVE issuers only.",
            details={"reason": "issuer_not_active", "issuer_status": issuer.value},
        )


def require_bakeable(credential: str) -> str:
    """Require that readers of baked pictures would read a credential of this length; return it.

    Raises:
        Conflict: it is longer.
    """
    if len(credential) > MAX_CREDENTIAL_BYTES:
        raise Conflict(
            f"The badge has {len(credential):,} characters; a picture holds at most {MAX_CREDENTIAL_BYTES:,}. "
            "Export it with format=jwt, or attest shorter claims.",
            details={"reason": "badge_too_long", "limit": MAX_CREDENTIAL_BYTES},
        )
    return credential
