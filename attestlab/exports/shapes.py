"""Wire models of exports; the exports themselves are tokens and pictures."""

from __future__ import annotations

from typing import Literal

from attestlab.attestations.rules import Verdict
from attestlab.attestations.verification.shapes import VerifyOut
from attestlab.core.shapes import In, Moment, Out
from attestlab.issuers.shapes import JwksOut


class VcIssuerMetadataOut(Out, source="CONTRACT 7; draft-ietf-oauth-sd-jwt-vc"):
    """JWT VC Issuer Metadata (draft-ietf-oauth-sd-jwt-vc): the signer, and the keys that currently verify it."""

    issuer: str
    """The signer: the value of iss in its exports. Format: URL."""
    jwks: JwksOut
    """The keys that currently verify its exports: active and rotated ones. Format: JSON Web Key Set, RFC 7517."""


class OpenBadgeQuery(In, source="CONTRACT 7; Open Badges 3.0"):
    """The form of an Open Badge: the JWT alone, or baked into a picture."""

    format: Literal["jwt", "png", "svg"] | None = None
    """The form of the export: the compact JWT alone, or baked into a picture; the header Accept chooses when left out.
    Format: jwt, png or svg; default jwt.
    """


class OpenBadgeVerifyIn(In, wire_name="open_badge_verification_input", source="CONTRACT 7; Open Badges 3.0"):
    """The Open Badge to verify: the baked picture, or the JWT alone."""

    content_b64url: str | None = None
    """The baked picture, PNG or SVG; or send credential. Format: base64url, at most 768,000 bytes decoded."""
    credential: str | None = None
    """The Open Badge itself; or send content_b64url. Format: compact JWT."""


class BadgeOut(Out, wire_name="open_badge", source="Open Badges 3.0"):
    """What an Open Badge states, as its issuer signed it."""

    name: str
    """The name of the achievement. Format: text."""
    earner: str
    """The name of the earner. Format: text; empty if the badge names none."""
    issuer: str
    """The issuer: the value of iss. Format: URL."""
    issuer_name: str
    """How the issuer calls itself. Format: text."""
    valid_from: Moment
    """When the attestation was made. Format: RFC 3339 date-time, UTC, milliseconds."""
    valid_until: Moment | None
    """When it expires; null if it does not. Format: RFC 3339 date-time, UTC, milliseconds."""


class OpenBadgeVerifyOut(Out, wire_name="open_badge_verification", source="CONTRACT 7"):
    """A verification of an Open Badge and of its attestation; without a valid signature, `problem` says why."""

    verdict: Verdict
    """The verdict of the attestation of the badge; INVALID if no published key of the issuer verifies the badge.
    Format: VALID, REVOKED, SUPERSEDED, EXPIRED or INVALID.
    """
    valid: bool
    """Whether the verdict is VALID. Format: true or false."""
    problem: str | None
    """Why the signature of the badge does not hold; null if it holds. Format: a sentence."""
    badge: BadgeOut | None
    """What the issuer signed; null if the signature does not hold. Format: object."""
    verification: VerifyOut | None
    """The verification of the attestation, as of POST /v1/verify; null if the signature does not hold. Format: object.
    """
