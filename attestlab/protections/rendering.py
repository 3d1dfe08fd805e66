"""Protections as wire models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.share_links import Links
from attestlab.protections.shapes import PortfolioEntryOut, ProtectionOut, VerificationDayOut
from attestlab.protections.store import AttestedProtection
from attestlab.protections.tables import ProtectionDayRecord, ProtectionRecord

_ATTESTED = ("content_hash", "verification_count", "attestation_status")
_render_entry = RowRenderer(PortfolioEntryOut, ProtectionRecord, computed=_ATTESTED)
_render_protection = RowRenderer(ProtectionOut, ProtectionRecord, computed=[*_ATTESTED, "verify_url", "share_url"])
render_day = RowRenderer(VerificationDayOut, ProtectionDayRecord)


def render_entry(found: AttestedProtection, *, now: datetime) -> PortfolioEntryOut:
    """Render a protection for everyone."""
    return _render_entry(found.row, **_describe(found, now))


def render_protection(found: AttestedProtection, *, links: Links, now: datetime) -> ProtectionOut:
    """Render a protection for its owner."""
    return _render_protection(
        found.row,
        verify_url=links.public_url(found.attestation_id),
        share_url=links.share_url(found.attestation_id),
        **_describe(found, now),
    )


def _describe(found: AttestedProtection, now: datetime) -> Mapping[str, object]:
    return {
        "content_hash": found.content_hash,
        "verification_count": found.verification_count,
        "attestation_status": found.status(now),
    }
