"""Issuers and their keys: the words of governance, and what may be written into a profile.

Words follow SPEC (Governance object, Signing key) and CONTRACT section 4. Pure; the
offline verifier reads the words here too.
"""

from __future__ import annotations

import re
from enum import StrEnum
from urllib.parse import urlsplit

from attestlab.core.countries import ALPHA_2
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+{_LABEL}")
_COLOR = re.compile(r"#[0-9a-f]{6}")
_KID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
DOMAIN_LENGTH = 253
URL_LENGTH = 2048


class IssuerStatus(StrEnum):
    """Whether an issuer may mint, and how its attestations are judged."""

    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    REVOKED = "REVOKED"


class TrustTier(StrEnum):
    """How far an issuer's identity was proven (SPEC, Governance object)."""

    SELF_SIGNED = "SELF_SIGNED"
    BASIC = "BASIC"
    VERIFIED = "VERIFIED"
    ENTERPRISE = "ENTERPRISE"


class RiskRating(StrEnum):
    """CRITICAL means that the issuer may be suspended pending review."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


class KeyStatus(StrEnum):
    """Only an active key signs; what became of a key later is judged by the log's order."""

    PENDING = "pending"
    ACTIVE = "active"
    ROTATED = "rotated"
    REVOKED = "revoked"
    COMPROMISED = "compromised"


class Custody(StrEnum):
    """Who holds the private half: the service (sealed at rest), or the issuer alone."""

    MANAGED = "managed"
    EXTERNAL = "external"


def require_may_mint(issuer: IssuerStatus, key: KeyStatus) -> None:
    """Only an ACTIVE issuer mints, and only with an active key.

    Raises:
        PermissionDenied: the issuer is suspended or revoked.
        Conflict: the key is not active.
    """
    if issuer is not IssuerStatus.ACTIVE:
        raise PermissionDenied(
            f"The issuer is {issuer.value}; only an ACTIVE one can mint.",
            details={"reason": "issuer_not_active", "issuer_status": issuer.value},
        )
    if key is not KeyStatus.ACTIVE:
        raise Conflict(f"The key is {key.value}; mint with an active one.", details={"key_status": key.value})


def domain(text: str) -> str:
    """A DNS name in lower case; names of other scripts in their `xn--` form."""
    name = text.strip().lower().removesuffix(".")
    if len(name) > DOMAIN_LENGTH or not _DOMAIN.fullmatch(name):
        raise ValidationFailed.of("/domain", "domain", "A domain is a DNS name such as registry.example.edu.")
    return name


def jurisdiction(code: str) -> str:
    """An ISO 3166-1 alpha-2 code in upper case."""
    if code.upper() not in ALPHA_2:
        raise ValidationFailed.of("/jurisdiction", "country", "A jurisdiction is an ISO 3166-1 alpha-2 code: CH.")
    return code.upper()


def color(field: str, text: str) -> str:
    """A hex colour, `#rrggbb` in lower case."""
    if not _COLOR.fullmatch(text.lower()):
        raise ValidationFailed.of(f"/{field}", "color", "A colour is written #rrggbb.")
    return text.lower()


def logo_url(text: str) -> str:
    """An absolute https address without credentials."""
    parts = urlsplit(text)
    sound = parts.scheme == "https" and parts.hostname and not parts.username and text.isascii() and text.isprintable()
    if not sound or len(text) > URL_LENGTH or any(mark in text for mark in " \"'<>\\"):
        raise ValidationFailed.of("/logo_url", "url", "A logo is given by an absolute https address.")
    return text


def kid(text: str) -> str:
    """A key id: 1 to 64 of letters, digits, dot, underscore, colon and hyphen."""
    if not _KID.fullmatch(text):
        raise ValidationFailed.of("/kid", "kid", "A kid is 1 to 64 characters of A-Z a-z 0-9 . _ : -")
    return text
