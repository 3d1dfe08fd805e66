"""What an attestation is: its states, its verdicts, and the statement that is signed.

Words and codes follow SPEC (States, Verification response) and CONTRACT sections 5
and 6. Nothing here touches a database, a clock or the network.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_b64url
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.strict_json import b64url_encode, format_time

STATEMENT_VERSION = 1
PAYLOAD_LIMIT_CHARS = 52_428_800
METADATA_LIMIT_BYTES = 16 * 1024
_SHA256_HEX = re.compile(r"[0-9a-f]{64}")


class Status(StrEnum):
    """What is stored of an attestation's life; nothing leaves the last three."""

    VALID = "VALID"
    REVOKED = "REVOKED"
    SUPERSEDED = "SUPERSEDED"
    EXPIRED = "EXPIRED"


class Verdict(StrEnum):
    """The one answer of a verification."""

    VALID = "VALID"
    ALTERED = "ALTERED"
    REVOKED = "REVOKED"
    SUPERSEDED = "SUPERSEDED"
    EXPIRED = "EXPIRED"
    INVALID = "INVALID"
    NOT_FOUND = "NOT_FOUND"
    UNKNOWN_ISSUER = "UNKNOWN_ISSUER"


class Reason(StrEnum):
    """Why: a code for each check that ran (CONTRACT section 6)."""

    SIGNATURE_OK = "signature_ok"
    SIGNATURE_INVALID = "signature_invalid"
    STATUS_CURRENT = "status_current"
    ATTESTATION_REVOKED = "attestation_revoked"
    ATTESTATION_SUPERSEDED = "attestation_superseded"
    ATTESTATION_EXPIRED = "attestation_expired"
    ATTESTATION_NOT_FOUND = "attestation_not_found"
    PAYLOAD_HASH_OK = "payload_hash_ok"
    PAYLOAD_HASH_MISMATCH = "payload_hash_mismatch"
    DOCUMENT_HASH_OK = "document_hash_ok"
    DOCUMENT_HASH_MISMATCH = "document_hash_mismatch"
    DOCUMENT_HASH_NOT_STORED = "document_hash_not_stored"
    GOVERNANCE_OK = "governance_ok"
    ISSUER_SUSPENDED = "issuer_suspended"
    ISSUER_REVOKED = "issuer_revoked"
    ISSUER_UNKNOWN = "issuer_unknown"
    KEY_ROTATED = "key_rotated"
    KEY_REVOKED = "key_revoked"
    KEY_COMPROMISED = "key_compromised"
    KEY_NOT_FOUND = "key_not_found"
    TRANSPARENCY_PROOF_OK = "transparency_proof_ok"
    TRANSPARENCY_PROOF_FAILED = "transparency_proof_failed"
    POLICY_OK = "policy_ok"
    POLICY_DENIED = "policy_denied"


@dataclass(frozen=True, slots=True)
class Statement:
    """What an issuer's key signs: who says what about which bytes, and until when.

    Hashes of the payload and of the claims are base64url SHA-256; `document_hash` is
    64 lowercase hex digits, or None where there is no document.
    """

    id: UUID
    issuer_id: UUID
    kid: str
    alg: Algorithm
    schema: str
    content_type: str
    payload_hash: str = field(repr=False)
    document_hash: str | None = field(repr=False)
    claims_hash: str = field(repr=False)
    expiry_at: datetime | None = field(repr=False)
    created_at: datetime = field(repr=False)

    def canonical(self) -> bytes:
        """The RFC 8785 bytes that are signed."""
        return canonical_trusted(
            {
                "v": STATEMENT_VERSION,
                "id": str(self.id),
                "issuer_id": str(self.issuer_id),
                "kid": self.kid,
                "alg": self.alg.value,
                "schema": self.schema,
                "content_type": self.content_type,
                "payload_hash": self.payload_hash,
                "document_hash": self.document_hash,
                "claims_hash": self.claims_hash,
                "expiry_at": None if self.expiry_at is None else format_time(self.expiry_at),
                "created_at": format_time(self.created_at),
            }
        )


def compute_current_status(stored: Status, expiry_at: datetime | None, *, now: datetime) -> Status:
    """The state as of `now`: a VALID attestation whose time has come is EXPIRED."""
    if stored is Status.VALID and expiry_at is not None and expiry_at <= now:
        return Status.EXPIRED
    return stored


def require_valid(status: Status) -> None:
    """Only a VALID attestation can be revoked or superseded; the other states are final (SPEC, States and transitions).

    Raises:
        Conflict: it is not.
    """
    if status is not Status.VALID:
        raise Conflict(
            f"The attestation is {status.value}, which is final; only a VALID one can change.",
            details={"status": status.value},
        )


def payload_bytes(schema: str, claims: bytes) -> bytes:
    """The canonical JSON of `{schema, claims}`, from claims that are canonical already."""
    return b'{"claims":' + claims + b',"schema":"' + schema.encode() + b'"}'


def compute_payload_hash(schema: str, claims: bytes, file_sha256: bytes | None) -> str:
    """The file's SHA-256 where there is a file, else that of the canonical payload; base64url."""
    if file_sha256 is not None:
        return b64url_encode(file_sha256)
    return sha256_b64url(payload_bytes(schema, claims))


def resolve_document_hash(
    claims: Mapping[str, object], explicit: str | None, file_sha256: bytes | None
) -> tuple[str | None, list[str]]:
    """The document's hash in SPEC's order (claims, field, file), and what a caller should be warned of."""
    named = _read_hash_from_claims(claims)
    if explicit is not None and not _SHA256_HEX.fullmatch(explicit):
        raise _invalid_hash("/document_hash")
    warnings = []
    if named is not None and explicit is not None and named != explicit:
        warnings.append("claims.document.sha256 and document_hash differ; claims.document.sha256 is used.")
    resolved = named or explicit or (file_sha256.hex() if file_sha256 is not None else None)
    if file_sha256 is not None and resolved != file_sha256.hex():
        warnings.append("The document hash is not the SHA-256 of payload_b64url; verification compares them apart.")
    return resolved, warnings


def _read_hash_from_claims(claims: Mapping[str, object]) -> str | None:
    document = claims.get("document")
    if not isinstance(document, Mapping) or "sha256" not in document:
        return None
    named = document["sha256"]
    if not isinstance(named, str) or not _SHA256_HEX.fullmatch(named):
        raise _invalid_hash("/claims/document/sha256")
    return named


def _invalid_hash(field: str) -> ValidationFailed:
    return ValidationFailed.of(field, "sha256_hex", "A document hash is 64 lowercase hexadecimal digits (SHA-256).")


def require_future(expiry_at: datetime | None, *, now: datetime) -> None:
    """An attestation cannot be born expired."""
    if expiry_at is not None and expiry_at <= now:
        raise ValidationFailed.of("/expiry_at", "not_in_future", "expiry_at must lie in the future.")


def sha256(raw: bytes) -> bytes:
    """SHA-256, 32 bytes."""
    return hashlib.sha256(raw).digest()
