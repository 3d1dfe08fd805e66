"""The statement of a receipt, which an issuer's key signs, and the content that its hashes are of (CONTRACT 11.5).

It stands with that of attestations, because the same steps verify both. This module is pure: no database, clock or
network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from attestlab.attestations.rules import RECEIPT, RecordKind, Status
from attestlab.core.crypto.canonical_json import canonical, canonical_trusted, sha256_b64url
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import format_time
from attestlab.core.errors import SignatureInvalid

STATEMENT_VERSION = 1
SUBJECT_NONCE_BYTES = 16


class ReceiptStatus(StrEnum):
    """Stored status of a receipt; REVOKED is final."""

    ACTIVE = "ACTIVE"
    REVOKED = "REVOKED"


RECEIPT_STATUSES = {ReceiptStatus.ACTIVE.value: Status.VALID, ReceiptStatus.REVOKED.value: Status.REVOKED}


@dataclass(frozen=True, slots=True)
class ReceiptStatement:
    """The statement of a receipt: issuer, key, type, the hashes of schema, subject and payload, and creation time.

    The hashes are base64url SHA-256.
    """

    kind: ClassVar[RecordKind] = RECEIPT

    id: UUID
    issuer_id: UUID
    kid: str
    alg: Algorithm
    receipt_type: str
    receipt_version: str
    schema_hash: str = field(repr=False)
    subject_hash: str = field(repr=False)
    payload_hash: str = field(repr=False)
    created_at: datetime = field(repr=False)

    @property
    def title(self) -> str:
        """The type of the receipt."""
        return self.receipt_type

    @property
    def document_hash(self) -> None:
        """A receipt is about no document."""
        return None

    @property
    def expiry_at(self) -> None:
        """A receipt does not expire."""
        return None

    def canonical(self) -> bytes:
        """Return the RFC 8785 bytes that the issuer's key signs."""
        return canonical_trusted(
            {
                "v": STATEMENT_VERSION,
                "kind": self.kind.noun,
                "id": str(self.id),
                "issuer_id": str(self.issuer_id),
                "kid": self.kid,
                "alg": self.alg.value,
                "receipt_type": self.receipt_type,
                "receipt_version": self.receipt_version,
                "schema_hash": self.schema_hash,
                "subject_hash": self.subject_hash,
                "payload_hash": self.payload_hash,
                "created_at": format_time(self.created_at),
            }
        )


@dataclass(frozen=True, slots=True)
class DisclosedContent:
    """What a redaction deletes and hashes prove: the payload as canonical JSON, the subject, and its nonce."""

    payload: bytes = field(repr=False)
    subject: str = field(repr=False)
    nonce: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReceiptContent:
    """The statement of a receipt with what it discloses; None after a redaction."""

    statement: ReceiptStatement
    disclosed: DisclosedContent | None = field(repr=False)

    @property
    def is_redacted(self) -> bool:
        """Whether payload and subject were deleted."""
        return self.disclosed is None

    def require_hashes(self) -> None:
        """Require that payload and subject are those of the signed hashes; a redacted receipt has neither.

        Raises:
            SignatureInvalid: one is not.
        """
        content = self.disclosed
        if content is None:
            return
        if sha256_b64url(content.payload) != self.statement.payload_hash:
            raise SignatureInvalid("The payload does not match the signed payload hash.")
        if hash_subject(content.nonce, content.subject) != self.statement.subject_hash:
            raise SignatureInvalid("The subject does not match the signed subject hash.")

    def encode_committed_payload(self) -> bytes:
        """Return the payload's hash as canonical JSON: the log entry commits to it, and so outlives a redaction."""
        return canonical(self.statement.payload_hash)


def hash_subject(nonce: bytes, subject: str) -> str:
    """Return the hash of a subject (base64url), with a nonce: without it, a short subject could be guessed."""
    return sha256_b64url(nonce + subject.encode())
