"""From what was seen to a page: HTML, and the headers that say what it may do.

Everything that an issuer wrote goes through `rules.visible` and then through Jinja's
escaping; both are switched on for the whole environment, so no line of a template can
forget them. `Markup` is only what stands in our own files, and what we made of checked values.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

import segno
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from attestlab.attestations.rules import Verdict
from attestlab.attestations.service import NOT_FOUND
from attestlab.attestations.shapes import BundleOut
from attestlab.core.db.transaction import AnyRow
from attestlab.core.strict_json import format_time
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
    "X-Robots-Tag": "noindex, nofollow",  # whoever has the link may look; nobody should find it by a name in it
}
_CACHE_SIZE = 256


class Html(NamedTuple):
    """A finished page."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def _escape_invisible(value: object) -> object:
    """What Jinja prints: text with nothing invisible in it; our own markup as it is."""
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


def attestation_page(seen: PageData, *, url: str, key: str | None) -> Html:
    """The page of an attestation, or the one that says that there is none.

    `key` is what opened it; without one it shows neither claims nor reason nor bundle.
    """
    verified, row = seen.verified, seen.verified.row
    if row is None:
        return not_found_page(str(verified.attestation_id), at=verified.at)
    more_claims: int
    claims, more_claims = ([], 0) if key is None else view_model.claims_of(row)
    brand = view_model.brand_of(row)
    return _html(
        200,
        brand,
        **_outcome(verified.report),
        at=verified.at,
        id=str(row.id),
        row=row,
        issuer=_issuer(row, has_logo=seen.has_logo),
        title=view_model.title_of(row.schema_id),
        remarks=view_model.remarks_of(verified.report),
        claims=claims,
        more_claims=more_claims,
        hashes=view_model.file_hashes_of(row),
        head=seen.head,
        latest=verified.latest,
        url=url,
        key=key,
        code=qr_code(url),
    )


def not_found_page(asked: str, *, at: datetime) -> Html:
    """The page where there is no attestation of the id that was asked for."""
    return _html(404, "", **_outcome(NOT_FOUND), at=at, id=asked[:80], row=None, remarks=[])


def _outcome(report: Any) -> dict[str, Any]:
    return {
        "verdict": report.verdict.value,
        "words": messages.VERDICTS[report.verdict],
        "steps": view_model.steps_of(report),
        "is_superseded": report.verdict is Verdict.SUPERSEDED,
        "is_revoked": report.verdict is Verdict.REVOKED,
    }


def _issuer(row: AnyRow, *, has_logo: bool) -> dict[str, Any] | None:
    if row.found_issuer is None:
        return None
    name = row.issuer_display_name or row.issuer_name
    return {
        "name": name,
        "registered_name": row.issuer_name,
        "domain": row.issuer_domain,
        "initials": rules.initials(name),
        "has_logo": has_logo,
        "tier": messages.TIERS.get(row.issuer_trust_tier, ""),
        "standing": view_model.standing_of(row),
    }


def _html(status: int, brand: str, **facts: Any) -> Html:
    style, script = Markup(_STYLE), Markup(_SCRIPT)
    text = _TEMPLATE.render(style=style, script=script, brand=Markup(brand), icon_name=assets.ICON, **facts)
    return Html(status, text.encode("utf-8"), {**_ALWAYS, "Content-Security-Policy": _policy(brand)})


@lru_cache(_CACHE_SIZE)
def _policy(brand: str) -> str:
    """What the page may do: run our script, wear our style and the issuer's colours, show images from here."""
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
    """A QR code (ISO/IEC 18004) as inline SVG; making one takes milliseconds, so the newest are remembered."""
    drawn = segno.make(url, error="m", micro=False)
    return Markup(drawn.svg_inline(border=3, omitsize=True, svgclass=None, lineclass=None, dark="#000", light="#fff"))


def without_private_notes(bundle: BundleOut) -> BundleOut:
    """The bundle without what the issuer noted for itself; no part of it is signed, so it proves the same."""
    public = bundle.attestation.model_copy(update={"subject_reference": None, "metadata": None})
    return bundle.model_copy(update={"attestation": public})
