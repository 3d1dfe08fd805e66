"""Rules of attestations: statuses, verdicts, reasons, and the statement that the issuer's key signs.

Terms and codes follow SPEC (States, Verification response) and CONTRACT sections 5
and 6. This module is pure: no database, clock or network.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Protocol
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_b64url
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode, format_time
from attestlab.core.errors import Conflict, SignatureInvalid, ValidationFailed
from attestlab.core.placeholders import is_placeholder

STATEMENT_VERSION = 1
PAYLOAD_LIMIT_CHARS = 52_428_800
METADATA_LIMIT_BYTES = 16 * 1024
_SHA256_HEX = re.compile(r"[0-9a-f]{64}")


class Status(StrEnum):
    """Stored status of an attestation; the last three are final."""

    VALID = "VALID"
    REVOKED = "REVOKED"
    SUPERSEDED = "SUPERSEDED"
    EXPIRED = "EXPIRED"


class Verdict(StrEnum):
    """Verdict of a verification."""

    VALID = "VALID"
    ALTERED = "ALTERED"
    REVOKED = "REVOKED"
    SUPERSEDED = "SUPERSEDED"
    EXPIRED = "EXPIRED"
    INVALID = "INVALID"
    NOT_FOUND = "NOT_FOUND"
    UNKNOWN_ISSUER = "UNKNOWN_ISSUER"


class Reason(StrEnum):
    """Reason codes of a verification, one for each check that ran (CONTRACT section 6)."""

    SIGNATURE_OK = "signature_ok"
    SIGNATURE_INVALID = "signature_invalid"
    STATUS_CURRENT = "status_current"
    ATTESTATION_REVOKED = "attestation_revoked"
    ATTESTATION_SUPERSEDED = "attestation_superseded"
    ATTESTATION_EXPIRED = "attestation_expired"
    ATTESTATION_NOT_FOUND = "attestation_not_found"
    PAYLOAD_HASH_OK = "payload_hash_ok"
    PAYLOAD_HASH_MISMATCH = "payload_hash_mismatch"
    PAYLOAD_REDACTED = "payload_redacted"
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
class RecordKind:
    """A kind of signed records.

    Its noun is its member in a bundle, `unsigned` names what its signature does not cover, and `final` are its ends.
    """

    noun: str
    unsigned: str
    minted_entry: str
    status_entry: str
    final: frozenset[Status]


ATTESTATION = RecordKind(
    noun="attestation",
    unsigned="the attestation's metadata, which is not signed",
    minted_entry="attestation.minted",
    status_entry="attestation.status",
    final=frozenset(Status) - {Status.VALID},
)
RECEIPT = RecordKind(
    noun="receipt",
    unsigned="the receipt's tenant, metadata and retention, which are not signed",
    minted_entry="receipt.minted",
    status_entry="receipt.status",
    final=frozenset({Status.REVOKED}),
)


class SignedStatement(Protocol):
    """The statement that an issuer's key signs, of any kind of record."""

    kind: ClassVar[RecordKind]

    @property
    def id(self) -> UUID:
        """The record's id."""
        ...

    @property
    def issuer_id(self) -> UUID:
        """The issuer that attests."""
        ...

    @property
    def kid(self) -> str:
        """The key that signs."""
        ...

    @property
    def alg(self) -> Algorithm:
        """The algorithm of that key."""
        ...

    @property
    def title(self) -> str:
        """What is attested, in a word: the schema or the type."""
        ...

    @property
    def payload_hash(self) -> str:
        """The hash of the payload, base64url."""
        ...

    @property
    def document_hash(self) -> str | None:
        """The hash of the document, hex; None without one."""
        ...

    @property
    def expiry_at(self) -> datetime | None:
        """When the record expires; None if it does not."""
        ...

    @property
    def created_at(self) -> datetime:
        """When the record was minted."""
        ...

    def canonical(self) -> bytes:
        """Return the RFC 8785 bytes that the issuer's key signs."""
        ...


class SignedContent(Protocol):
    """A statement with what its hashes are of."""

    @property
    def statement(self) -> SignedStatement:
        """The statement."""
        ...

    @property
    def is_redacted(self) -> bool:
        """Whether the content was deleted, so that only its hashes remain."""
        ...

    def require_hashes(self) -> None:
        """Require that the hashes of the statement are those of the content.

        Raises:
            SignatureInvalid: one differs.
        """
        ...

    def encode_committed_payload(self) -> bytes:
        """Return the canonical JSON to which the log entry commits, with the signature, as `payload`."""
        ...


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement that an issuer's key signs: issuer, key, schema, hashes, expiry and creation time.

    The hashes of payload and claims are base64url SHA-256; `document_hash` is 64 lowercase
    hex digits, or None without a document.
    """

    kind: ClassVar[RecordKind] = ATTESTATION

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

    @property
    def title(self) -> str:
        """The schema of the claims."""
        return self.schema

    def canonical(self) -> bytes:
        """Return the RFC 8785 bytes that the issuer's key signs."""
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


@dataclass(frozen=True, slots=True)
class AttestedClaims:
    """The statement of an attestation with its claims, which are canonical JSON."""

    statement: Statement
    claims: bytes = field(repr=False)

    @property
    def is_redacted(self) -> bool:
        """Claims are never deleted."""
        return False

    def require_hashes(self) -> None:
        """Require that the claims are those of the signed hash.

        Raises:
            SignatureInvalid: they are not.
        """
        if sha256_b64url(self.claims) != self.statement.claims_hash:
            raise SignatureInvalid("The claims do not match the signed claims hash.")

    def encode_committed_payload(self) -> bytes:
        """Return the payload `{schema, claims}`, to which the log entry commits."""
        return payload_bytes(self.statement.schema, self.claims)


def compute_current_status(stored: Status, expiry_at: datetime | None, *, now: datetime) -> Status:
    """Return the status as of `now`: a VALID attestation is EXPIRED once its expiry time has passed."""
    if stored is Status.VALID and expiry_at is not None and expiry_at <= now:
        return Status.EXPIRED
    return stored


def require_valid(status: Status) -> None:
    """Reject what only a VALID attestation allows; other statuses are final (SPEC, States and transitions).

    Raises:
        Conflict: the status is not VALID.
    """
    if status is not Status.VALID:
        raise Conflict(
            f"The attestation is {status.value}, which is final. "
            "Only a VALID one can be revoked, superseded or delivered.",
            details={"status": status.value},
        )


def payload_bytes(schema: str, claims: bytes) -> bytes:
    """Return the canonical JSON of `{schema, claims}`; `claims` must already be canonical JSON."""
    return b'{"claims":' + claims + b',"schema":"' + schema.encode() + b'"}'


def compute_payload_hash(schema: str, claims: bytes, file_sha256: bytes | None) -> str:
    """Return the payload hash (base64url): the file's SHA-256 if there is a file, otherwise the canonical payload's."""
    if file_sha256 is not None:
        return b64url_encode(file_sha256)
    return sha256_b64url(payload_bytes(schema, claims))


def resolve_document_hash(
    claims: Mapping[str, object], explicit: str | None, file_sha256: bytes | None
) -> tuple[str | None, list[str]]:
    """Return the document's hash, in SPEC's order (claims, field, file), and warnings for the caller."""
    in_claims = _read_hash_from_claims(claims)
    if explicit is not None and not _is_document_hash(explicit):
        raise _invalid_hash("/document_hash")
    warnings = []
    if in_claims is not None and explicit is not None and in_claims != explicit:
        warnings.append("claims.document.sha256 and document_hash differ; claims.document.sha256 is used.")
    resolved = in_claims or explicit or (file_sha256.hex() if file_sha256 is not None else None)
    if file_sha256 is not None and resolved != file_sha256.hex():
        warnings.append(
            "The document hash is not the SHA-256 of payload_b64url; verification compares each separately."
        )
    return resolved, warnings


def _read_hash_from_claims(claims: Mapping[str, object]) -> str | None:
    document = claims.get("document")
    if not isinstance(document, Mapping) or "sha256" not in document:
        return None
    digest = document["sha256"]
    if not _is_document_hash(digest):
        raise _invalid_hash("/claims/document/sha256")
    return str(digest)


def _invalid_hash(field: str) -> ValidationFailed:
    return ValidationFailed.of(
        field,
        "sha256_hex",
        "A document hash must be 64 lowercase hexadecimal digits (SHA-256), and not all of them zero: no document has "
        "such a hash. Send the hash of the document, or none.",
    )


def _is_document_hash(text: object) -> bool:
    return isinstance(text, str) and _SHA256_HEX.fullmatch(text) is not None and not is_placeholder(text)


def require_future(expiry_at: datetime | None, *, now: datetime) -> None:
    """Reject an expiry time that has already passed.

    Raises:
        ValidationFailed: `expiry_at` is not in the future.
    """
    if expiry_at is not None and expiry_at <= now:
        raise ValidationFailed.of("/expiry_at", "not_in_future", "expiry_at must be in the future.")


def sha256(raw: bytes) -> bytes:
    """Return the SHA-256 digest of `raw`, 32 bytes.

    >>> import attestlab
    >>> attestlab.sha256(b"any file will do").hex()[:16]
    'd52eefc4ee70db4f'
    """
    return hashlib.sha256(raw).digest()
