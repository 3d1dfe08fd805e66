"""Rendering of an attestation's page, and of its bundle for the public."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

import segno
from markupsafe import Markup

from attestlab.attestations.rules import Verdict
from attestlab.attestations.shapes import BundleOut
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.verification.facts import read_logged_at
from attestlab.exports.badges import BADGES
from attestlab.issuers.rules import KNOWN_BY
from attestlab.log.merkle.hashing import leaf_hash
from attestlab.portal import messages, rules, view_model
from attestlab.portal.layout import NOT_INDEXED, Html, format_age, render_page
from attestlab.portal.service import PageData
from attestlab.portal.view_model import StepView

_CACHE_SIZE = 256
_ROOT = "../"


def attestation_page(data: PageData, *, url: str, public_url: str, key: str | None) -> Html:
    """Render the page of an attestation, or the page for an unknown id.

    `url` is the address that was opened. `key` is the key of the shared link; without one the page
    shows neither claims nor reason nor bundle. `public_url` never has the key.
    """
    verified, evidence = data.verified, data.verified.evidence
    if evidence is None:
        return not_found_page(str(verified.attestation_id), at=verified.at)
    row = evidence.attestation
    claims, more_claims = ([], 0) if key is None else view_model.claims_of(row)
    hashes = view_model.file_hashes_of(row)
    steps = view_model.steps_of(verified.report, has_file=bool(hashes))
    html = render_page(
        "attestation.html",
        root=_ROOT,
        inline_css=view_model.brand_of(evidence.issuer),
        verdict=verified.verdict.value,
        words=messages.VERDICTS[verified.verdict],
        steps=steps,
        at=verified.at,
        logged_at=read_logged_at(evidence.entry, custody=row.custody, created_at=row.created_at),
        id=str(row.id),
        row=row,
        issuer=_issuer(evidence, has_logo=data.has_logo),
        title=view_model.title_of(row.schema_id),
        kind=view_model.kind_of(row.schema_id),
        is_badge=row.schema_id in BADGES and verified.verdict is Verdict.VALID,
        remarks=view_model.remarks_of(verified.report),
        passed=_map_passed(steps),
        claims=claims[: view_model.MAX_UNFOLDED_CLAIMS],
        folded_claims=claims[view_model.MAX_UNFOLDED_CLAIMS :],
        more_claims=more_claims,
        hashes=hashes,
        leaf_hash=None if evidence.entry is None else leaf_hash(evidence.entry).hex(),
        head=data.head,
        head_age=" ".join(format_age((verified.at - data.head.at).total_seconds())).replace("ago", "earlier"),
        latest=verified.latest,
        url=url,
        public_url=public_url,
        key=key,
        code=qr_code(url),
    )
    return html._replace(headers={**html.headers, **NOT_INDEXED})


def not_found_page(attestation_id: str, *, at: datetime) -> Html:
    """Render the page for an id that no attestation has."""
    html = render_page(
        "attestation_not_found.html",
        status=404,
        root=_ROOT,
        verdict=Verdict.NOT_FOUND.value,
        words=messages.VERDICTS[Verdict.NOT_FOUND],
        at=at,
        id=attestation_id[:80],
    )
    return html._replace(headers={**html.headers, **NOT_INDEXED})


def _map_passed(steps: list[StepView]) -> dict[str, bool]:
    """Return for each step whether it passed, so that the page ticks nothing that no step has checked."""
    return {step.name: step.is_passed for step in steps}


def _issuer(evidence: AttestationEvidence, *, has_logo: bool) -> dict[str, object] | None:
    issuer = evidence.issuer
    if issuer is None:
        return None
    name = issuer.shown_name
    return {
        "name": name,
        "registered_name": issuer.name,
        "domain": issuer.domain,
        "initials": rules.initials(name),
        "has_logo": has_logo,
        "tier": messages.TIERS.get(issuer.trust_tier, ""),
        "known_by": KNOWN_BY.get(issuer.trust_tier),
        "standing": view_model.standing_of(evidence.attestation, issuer),
    }


@lru_cache(_CACHE_SIZE)
def qr_code(url: str) -> Markup:
    """Render a QR code (ISO/IEC 18004) as inline SVG; rendering takes milliseconds, so recent codes are cached."""
    drawn = segno.make(url, error="m", micro=False)
    return Markup(drawn.svg_inline(border=3, omitsize=True, svgclass=None, lineclass=None, dark="#000", light="#fff"))


def without_private_notes(bundle: BundleOut) -> BundleOut:
    """Remove the issuer's private notes from a bundle; they are not signed, so the bundle verifies as before."""
    public = bundle.attestation.model_copy(update={"subject_reference": None, "metadata": None})
    return bundle.model_copy(update={"attestation": public})
