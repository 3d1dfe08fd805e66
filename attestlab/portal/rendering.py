"""Rendering of the public page: HTML, and the security headers that restrict it.

All text that an issuer wrote passes through `rules.escape_invisible` and Jinja's escaping.
Both are enabled for the whole environment, so no template line can omit them. `Markup` is
used only for the project's own files and for markup built from validated values.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

import segno
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from attestlab.attestations.results import NOT_FOUND
from attestlab.attestations.rules import Verdict
from attestlab.attestations.shapes import BundleOut
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.verification.steps import VerificationResult
from attestlab.core.encoding import format_time
from attestlab.portal import assets, messages, rules, view_model
from attestlab.portal.service import PageData

NOTHING_ALLOWED: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ALWAYS: Final = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",  # anyone with the link may view; search engines must not index names
}
_CACHE_SIZE = 256


class Html(NamedTuple):
    """A finished page."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def _escape_invisible(value: object) -> object:
    """Escape invisible characters in every value that Jinja prints, except in `Markup`."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return rules.escape_invisible(value)
    return value


def _time_element(at: datetime) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(format_time(at), view_model.format_utc(at))


_environment = Environment(
    autoescape=True, finalize=_escape_invisible, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_environment.filters["time"] = _time_element
_TEMPLATE: Final = _environment.from_string(assets.read_text("page.html"))
_STYLE: Final = assets.read_text("page.css")
_SCRIPT: Final = assets.read_text("page.js")


def attestation_page(data: PageData, *, url: str, key: str | None) -> Html:
    """Render the page of an attestation, or the page for an unknown id.

    `key` is the key of the shared link; without one the page shows neither claims nor reason nor bundle.
    """
    verified, evidence = data.verified, data.verified.evidence
    if evidence is None:
        return not_found_page(str(verified.attestation_id), at=verified.at)
    row = evidence.attestation
    claims, more_claims = ([], 0) if key is None else view_model.claims_of(row)
    brand = view_model.brand_of(evidence.issuer)
    return _html(
        200,
        brand,
        **_outcome(verified.report),
        at=verified.at,
        id=str(row.id),
        row=row,
        issuer=_issuer(evidence, has_logo=data.has_logo),
        title=view_model.title_of(row.schema_id),
        remarks=view_model.remarks_of(verified.report),
        claims=claims,
        more_claims=more_claims,
        hashes=view_model.file_hashes_of(row),
        head=data.head,
        latest=verified.latest,
        url=url,
        key=key,
        code=qr_code(url),
    )


def not_found_page(attestation_id: str, *, at: datetime) -> Html:
    """Render the page for an id that no attestation has."""
    return _html(404, "", **_outcome(NOT_FOUND), at=at, id=attestation_id[:80], row=None, remarks=[])


def _outcome(report: VerificationResult) -> dict[str, object]:
    return {
        "verdict": report.verdict.value,
        "words": messages.VERDICTS[report.verdict],
        "steps": view_model.steps_of(report),
        "is_superseded": report.verdict is Verdict.SUPERSEDED,
        "is_revoked": report.verdict is Verdict.REVOKED,
    }


def _issuer(evidence: AttestationEvidence, *, has_logo: bool) -> dict[str, object] | None:
    issuer = evidence.issuer
    if issuer is None:
        return None
    name = issuer.display_name or issuer.name
    return {
        "name": name,
        "registered_name": issuer.name,
        "domain": issuer.domain,
        "initials": rules.initials(name),
        "has_logo": has_logo,
        "tier": messages.TIERS.get(issuer.trust_tier, ""),
        "standing": view_model.standing_of(evidence.attestation, issuer),
    }


def _html(status: int, brand: str, **facts: object) -> Html:
    style, script = Markup(_STYLE), Markup(_SCRIPT)
    text = _TEMPLATE.render(style=style, script=script, brand=Markup(brand), icon_name=assets.ICON, **facts)
    return Html(status, text.encode("utf-8"), {**_ALWAYS, "Content-Security-Policy": _policy(brand)})


@lru_cache(_CACHE_SIZE)
def _policy(brand: str) -> str:
    """Build the page's CSP: it allows our script, our style, the issuer's colours, and images of this host only."""
    styles = " ".join(assets.csp_hash(text) for text in (_STYLE, brand) if text)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {assets.csp_hash(_SCRIPT)}",
            f"style-src {styles}",
            "img-src 'self'",
            "connect-src 'none'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


@lru_cache(_CACHE_SIZE)
def qr_code(url: str) -> Markup:
    """Render a QR code (ISO/IEC 18004) as inline SVG; rendering takes milliseconds, so recent codes are cached."""
    drawn = segno.make(url, error="m", micro=False)
    return Markup(drawn.svg_inline(border=3, omitsize=True, svgclass=None, lineclass=None, dark="#000", light="#fff"))


def without_private_notes(bundle: BundleOut) -> BundleOut:
    """Remove the issuer's private notes from a bundle; they are not signed, so the bundle verifies as before."""
    public = bundle.attestation.model_copy(update={"subject_reference": None, "metadata": None})
    return bundle.model_copy(update={"attestation": public})
