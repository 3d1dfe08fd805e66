"""Rules of protections: who may see one, what was protected, and which changes its source allows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.text_forms import describe_form

MAX_DESCRIPTION_LENGTH: Final = 2000
MAX_FILE_NAME_LENGTH: Final = 255
MAX_FILE_SIZE: Final = 2**53 - 1  # the largest whole number that every JSON parser reads exactly
MAX_CONTENT_TYPE_LENGTH: Final = 127
MAX_DAYS: Final = 365
SCHEMA: Final = "custom"
CLAIM_TYPE: Final = "content-protection"
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*"  # RFC 6838 section 4.2
CONTENT_TYPE_FORM: Final = describe_form(
    f"^(image|video|audio|document|other|{_NAME}/{_NAME})$",
    "Send image, video, audio, document or other, or a MIME type such as image/png.",
)
CATEGORY_FORM: Final = describe_form("^[a-z0-9_-]{1,64}$", "Send 1 to 64 characters a-z, 0-9, _ and -.")


class Visibility(StrEnum):
    """Who can see a protection: everyone in the portfolio, those who have its link, or its owner alone."""

    PUBLIC = "public"
    UNLISTED = "unlisted"
    PRIVATE = "private"


class ProtectionSource(StrEnum):
    """Where the attestation of a protection comes from: the owner's content, or a credential of their inbox."""

    OWN = "own"
    RECEIVED = "received"


def build_claims(content_hash: str, content_type: str) -> Mapping[str, object]:
    """Build the claims of a protection, which name neither its owner nor its title: claims cannot be erased.

    >>> build_claims("ab", "image")
    {'subject': 'sha256:ab', 'type': 'content-protection', 'details': 'image'}
    """
    return {"subject": f"sha256:{content_hash}", "type": CLAIM_TYPE, "details": content_type}


def require_one_subject(content_hash: object, attestation_id: object) -> None:
    """Require a hash of own content or a received attestation, not both.

    Raises:
        ValidationFailed: both are given, or neither.
    """
    if (content_hash is None) == (attestation_id is None):
        message = "Send either content_hash, to protect content, or attestation_id, to show a received credential."
        raise ValidationFailed.of("/content_hash", "one_of", message)


def require_own(source: ProtectionSource) -> None:
    """Require that the owner of a protection can revoke its attestation.

    Raises:
        Conflict: its issuer attested it.
    """
    if source is not ProtectionSource.OWN:
        message = "Only its issuer can revoke a received credential. Delete the protection to show it no longer."
        raise Conflict(message, details={"reason": "received", "source": source.value})
