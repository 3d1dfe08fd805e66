"""Rules of issuers and keys: statuses and ratings, permitted transitions, and validation of profiles.

Terms follow SPEC (Governance object, Signing key) and CONTRACT section 4. This module is
pure, and the offline verifier uses it too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from attestlab.core.countries import parse_location
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import validate_display_name

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+(?![0-9]+$){_LABEL}")  # no top-level domain is a number (RFC 3696 section 2)
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_URL = re.compile(
    r"[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=%-]+"
)  # RFC 3986 without the apostrophe, which could end an HTML attribute
_KID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
DOMAIN_LENGTH = 253
URL_LENGTH = 2048


# What was verified about an issuer (SPEC, Trust tier meanings); sentences call it by that and by nothing else.
KNOWN_BY: Final = {"BASIC": "domain", "VERIFIED": "name", "ENTERPRISE": "name"}


class IssuerStatus(StrEnum):
    """Status of an issuer, which decides whether it may mint and how its attestations verify."""

    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    REVOKED = "REVOKED"


class TrustTier(StrEnum):
    """Degree to which an issuer's identity was verified (SPEC, Governance object)."""

    SELF_SIGNED = "SELF_SIGNED"
    BASIC = "BASIC"
    VERIFIED = "VERIFIED"
    ENTERPRISE = "ENTERPRISE"


class RiskRating(StrEnum):
    """Risk rating of an issuer; CRITICAL means that it may be suspended pending review."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class KeyStatus(StrEnum):
    """Status of a signing key; only an active key signs, and verdicts on later changes follow the order of the log."""

    PENDING = "pending"
    ACTIVE = "active"
    ROTATED = "rotated"
    REVOKED = "revoked"
    COMPROMISED = "compromised"


class Custody(StrEnum):
    """Holder of the private key: the service (sealed at rest), or the issuer alone."""

    MANAGED = "managed"
    EXTERNAL = "external"


def require_may_mint(issuer: IssuerStatus, key: KeyStatus) -> None:
    """Require an ACTIVE issuer and an active key for a mint.

    Raises:
        PermissionDenied: the issuer is suspended or revoked.
        Conflict: the key is not active.
    """
    if issuer is not IssuerStatus.ACTIVE:
        raise PermissionDenied(
            f"The issuer is {issuer.value}; only an ACTIVE issuer can mint.",
            details={"reason": "issuer_not_active", "issuer_status": issuer.value},
        )
    if key is not KeyStatus.ACTIVE:
        raise Conflict(f"The key is {key.value}; mint with an active one.", details={"key_status": key.value})


def require_rotatable(status: KeyStatus) -> None:
    """Require an active key for a rotation (SPEC, Signing key).

    Raises:
        Conflict: the key is not active.
    """
    if status is not KeyStatus.ACTIVE:
        raise Conflict(
            f"The key is {status.value}; only an active one can be rotated.", details={"key_status": status.value}
        )


_WITHDRAWN = {
    KeyStatus.REVOKED: frozenset({KeyStatus.REVOKED, KeyStatus.COMPROMISED}),
    KeyStatus.COMPROMISED: frozenset({KeyStatus.COMPROMISED}),
}


def require_withdrawable(now: KeyStatus, new: KeyStatus) -> None:
    """Require that a key may be revoked or reported as compromised.

    Any key may turn out to be compromised, also a revoked one; a compromised key never becomes merely revoked.

    Raises:
        Conflict: the key already has the new status or a worse one.
    """
    if now in _WITHDRAWN[new]:
        raise Conflict(f"The key is already {now.value}.", details={"key_status": now.value})


def require_past(compromised_at: datetime | None, *, now: datetime) -> None:
    """Reject a compromise time in the future.

    Raises:
        ValidationFailed: the time is in the future.
    """
    if compromised_at is not None and compromised_at > now:
        raise ValidationFailed.of("/compromised_at", "in_future", "compromised_at must not be in the future.")


def require_domain_may_change(tier: TrustTier) -> None:
    """Reject a change of a verified domain: a trust tier of BASIC or higher vouches for this domain.

    Raises:
        Conflict: the tier is BASIC or higher.
    """
    if tier is not TrustTier.SELF_SIGNED:
        raise Conflict(
            f"The domain was verified for the tier {tier.value}. Register another issuer for another domain.",
            details={"trust_tier": tier.value},
        )


def is_uploaded_logo_url(logo_url: str | None, issuer_id: UUID) -> bool:
    """Return whether a profile's logo URL is that of the issuer's uploaded logo, and not an external URL.

    Compares only the path, because the service may have had another address at the upload.

    >>> ours = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")
    >>> is_uploaded_logo_url(f"https://old.example/v1/issuers/{ours}/logo", ours)
    True
    >>> is_uploaded_logo_url("https://northfield.example.edu/logo.png", ours), is_uploaded_logo_url(None, ours)
    (False, False)
    """
    return (logo_url or "").endswith(f"/v1/issuers/{issuer_id}/logo")


def normalize_profile(fields: Mapping[str, str | None]) -> dict[str, str | None]:
    """Validate the fields of a profile, and return them in their stored form; None removes a field.

    Raises:
        ValidationFailed: a field is invalid.
    """
    return {name: None if text is None else _NORMALIZERS[name](text) for name, text in fields.items()}


def normalize_domain(text: str) -> str:
    """Validate a DNS name and return it in lower case; internationalized names must be in `xn--` form (RFC 5890).

    >>> normalize_domain("Registry.Example.EDU")
    'registry.example.edu'
    """
    name = text.lower().removesuffix(".")
    if not text.isascii() or len(name) > DOMAIN_LENGTH or not _DOMAIN.fullmatch(name):
        raise ValidationFailed.of("/domain", "domain", "The domain must be a DNS name such as registry.example.edu.")
    return name


def normalize_jurisdiction(code: str) -> str:
    """Validate a country code of two letters, and return it in upper case.

    >>> normalize_jurisdiction("ch"), normalize_jurisdiction("XK")
    ('CH', 'XK')
    """
    try:
        country = parse_location(code)
    except ValueError as error:
        raise ValidationFailed.of("/jurisdiction", "country", str(error)) from None
    if country is None:
        message = f"{code[:40]!r} names no country. Send a code such as CH, or omit the jurisdiction."
        raise ValidationFailed.of("/jurisdiction", "country", message)
    return country


def normalize_color(field: str, text: str) -> str:
    """Validate a hex colour `#rrggbb`, and return it in lower case."""
    if not _COLOR.fullmatch(text):
        raise ValidationFailed.of(f"/{field}", "color", "A colour must have the form #rrggbb.")
    return text.lower()


def validate_logo_url(text: str) -> str:
    """Validate an absolute https URL without credentials."""
    if len(text) > URL_LENGTH or not _URL.fullmatch(text) or not _is_https(text):
        raise ValidationFailed.of("/logo_url", "url", "logo_url must be an absolute https URL without credentials.")
    return text


def _is_https(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:  # brackets without an address in them, a port that is no number
        return False


def validate_kid(text: str) -> str:
    """Validate a key id: 1 to 64 letters, digits, dots, underscores, colons and hyphens.

    Rejects `.` and `..`, because in a path they would not reach the route (RFC 3986 section 5.2.4).
    """
    if not _KID.fullmatch(text) or text in (".", ".."):
        raise ValidationFailed.of("/kid", "kid", "A kid must be 1 to 64 characters of A-Z a-z 0-9 . _ : -")
    return text


_NORMALIZERS: dict[str, Callable[[str], str]] = {
    "name": partial(validate_display_name, "name"),
    "legal_name": partial(validate_display_name, "legal_name"),
    "display_name": partial(validate_display_name, "display_name"),
    "domain": normalize_domain,
    "jurisdiction": normalize_jurisdiction,
    "primary_color": partial(normalize_color, "primary_color"),
    "accent_color": partial(normalize_color, "accent_color"),
    "logo_url": validate_logo_url,
}
