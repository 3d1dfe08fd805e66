"""Rendering of Open Badges as pictures and as verified, and what a client presents to have verified."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from attestlab.attestations import rendering as attestation_rendering
from attestlab.attestations.results import VerificationOutcome
from attestlab.attestations.rules import Verdict
from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.row_rendering import RowRenderer
from attestlab.exports.badge_credential import VerifiedBadge
from attestlab.exports.baking import pictures
from attestlab.exports.baking.limits import FIELD
from attestlab.exports.baking.pictures import PictureFormat
from attestlab.exports.shapes import BadgeOut, OpenBadgeVerifyIn, OpenBadgeVerifyOut
from attestlab.web.media_types import choose_media_type
from attestlab.web.response import RawResponse, save_as

JWT: Final = "jwt"
VC_JWT: Final = "application/vc+jwt"
SD_JWT: Final = "application/dc+sd-jwt"
VARY_ACCEPT: Final = {"Vary": "Accept"}
_render_badge = RowRenderer(BadgeOut, VerifiedBadge)
# An SVG that a browser opens directly is a page: it may show the logo that it contains, and nothing else.
_PICTURE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; img-src data:; frame-ancestors 'none'; sandbox"
}


def picture_response(picture: bytes, attestation_id: UUID, form: PictureFormat) -> RawResponse:
    """Build the response that a baked picture is, as a file to save."""
    named = save_as(f"open-badge-{attestation_id}.{form.value}")
    return RawResponse(picture, form.media_type, {**_PICTURE_HEADERS, **VARY_ACCEPT, **named})


def choose_badge_format(accept: str | None) -> str:
    """Choose the form of an Open Badge by an Accept header: a picture that it prefers to the JWT, or the JWT."""
    forms = {VC_JWT: JWT, **{form.media_type: form.value for form in PictureFormat}}
    return forms[choose_media_type(accept, list(forms))]


def choose_picture_format(accept: str | None) -> PictureFormat:
    """Choose the format of a baked picture by an Accept header; PNG without a preference."""
    forms = {form.media_type: form for form in PictureFormat}
    return forms[choose_media_type(accept, list(forms))]


def read_presented_badge(body: OpenBadgeVerifyIn) -> str:
    """Read the JWT that a client presents, alone or baked into a picture.

    Raises:
        ValidationFailed: it sent neither or both, or the picture holds no credential that can be read.
    """
    if (body.content_b64url is None) == (body.credential is None):
        message = "Send the picture as content_b64url, or the JWT as credential: exactly one of them."
        raise ValidationFailed.of(FIELD, "one_of", message)
    if body.content_b64url is None:
        return str(body.credential)
    return pictures.read_credential(b64url_decode(body.content_b64url, field=FIELD))


def render_badge_verification(
    badge: VerifiedBadge, verified: VerificationOutcome, *, log_id: str
) -> OpenBadgeVerifyOut:
    """Render a badge whose signature is verified, with the verdict of its attestation."""
    verification = attestation_rendering.render_verification(verified, log_id=log_id)
    verdict = badge.verdict_at(verified.at) if verified.verdict is Verdict.VALID else verified.verdict
    return OpenBadgeVerifyOut(
        verdict=verdict,
        valid=verdict is Verdict.VALID,
        problem=None,
        badge=_render_badge(badge),
        verification=verification,
    )


def render_unproven_badge(error: SignatureInvalid) -> OpenBadgeVerifyOut:
    """Render a badge that no key of its issuer verifies; what it states is not repeated."""
    return OpenBadgeVerifyOut(
        verdict=Verdict.INVALID, valid=False, problem=error.message, badge=None, verification=None
    )
