"""Rules of the inbox: states of items, and limits of deliveries (CONTRACT 11.2)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import Conflict, ValidationFailed

MAX_RECIPIENTS = 20  # of an attestation
MAX_SAFE_METADATA_BYTES = 4096
MAX_REASON_LENGTH = 1000


class DeliveryState(StrEnum):
    """PENDING until an account has the address; DECLINED is final."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    DECLINED = "DECLINED"


class ReadState(StrEnum):
    """What a recipient did with an item; each state may follow each other."""

    UNREAD = "UNREAD"
    READ = "READ"
    ARCHIVED = "ARCHIVED"


def encode_safe_metadata(metadata: Mapping[str, object]) -> bytes:
    """Encode what an issuer shows to a recipient as canonical JSON.

    Raises:
        ValidationFailed: it is too long.
    """
    encoded = canonical(metadata)
    if len(encoded) > MAX_SAFE_METADATA_BYTES:
        message = f"safe_metadata is {len(encoded):,} bytes of JSON; the limit is {MAX_SAFE_METADATA_BYTES:,}."
        raise ValidationFailed.of("/safe_metadata", "too_large", message)
    return encoded


def require_room(recipients: int) -> None:
    """Require that an attestation may have another recipient.

    Raises:
        Conflict: it has as many as it may have.
    """
    if recipients >= MAX_RECIPIENTS:
        message = f"This attestation has {recipients} recipients; the limit is {MAX_RECIPIENTS}. Mint another one."
        raise Conflict(message, details={"reason": "too_many_recipients", "limit": MAX_RECIPIENTS})


def require_not_declined(state: DeliveryState) -> None:
    """Require that the recipient has not declined an item.

    Raises:
        Conflict: they have; it stays in the archive.
    """
    if state is DeliveryState.DECLINED:
        message = "You declined this attestation, so it stays in the archive. Ask the issuer for another one."
        raise Conflict(message, details={"reason": "declined"})
