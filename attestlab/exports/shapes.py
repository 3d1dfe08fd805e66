"""Wire models of exports; the exports themselves are tokens and pictures."""

from __future__ import annotations

from typing import Literal

from attestlab.attestations.rules import Verdict
from attestlab.attestations.verification.shapes import VerifyOut
from attestlab.core.shapes import In, Moment, Out
from attestlab.issuers.shapes import JwksOut


class VcIssuerMetadataOut(Out):
    """JWT VC Issuer Metadata (draft-ietf-oauth-sd-jwt-vc): the signer, and the keys that currently verify it."""

    issuer: str
    jwks: JwksOut


class OpenBadgeQuery(In):
    """The form of an Open Badge: the JWT alone, or baked into a picture."""

    format: Literal["jwt", "png", "svg"] = "jwt"


class OpenBadgeVerifyIn(In):
    """The Open Badge to verify: the baked picture, or the JWT alone."""

    content_b64url: str | None = None
    credential: str | None = None


class BadgeOut(Out):
    """What an Open Badge states, as its issuer signed it."""

    name: str
    earner: str
    issuer: str
    issuer_name: str
    valid_from: Moment
    valid_until: Moment | None


class OpenBadgeVerifyOut(Out):
    """A verification of an Open Badge and of its attestation; without a valid signature, `problem` says why."""

    verdict: Verdict
    valid: bool
    problem: str | None
    badge: BadgeOut | None
    verification: VerifyOut | None
