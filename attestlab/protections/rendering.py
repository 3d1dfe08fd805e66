"""Protections as wire models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from attestlab.attestations.rules import Status
from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.share_links import Links
from attestlab.protections.shapes import PortfolioEntryOut, ProtectionOut, VerificationDayOut
from attestlab.protections.store import AttestedProtection
from attestlab.protections.tables import ProtectionDayRecord, ProtectionRecord

_CACHE_SIZE: Final = 64
_ATTESTED = ("content_hash", "verification_count", "attestation_status")
_render_entry = RowRenderer(PortfolioEntryOut, ProtectionRecord, computed=_ATTESTED)
_render_protection = RowRenderer(ProtectionOut, ProtectionRecord, computed=[*_ATTESTED, "verify_url", "share_url"])
render_day = RowRenderer(VerificationDayOut, ProtectionDayRecord)


def render_entries(found: Sequence[AttestedProtection], *, now: datetime) -> tuple[PortfolioEntryOut, ...]:
    """Render protections for everyone; the same state of them is rendered once."""
    return _render_entries(tuple(found), tuple(each.status(now) for each in found))


@lru_cache(_CACHE_SIZE)
def _render_entries(
    found: tuple[AttestedProtection, ...], statuses: tuple[Status, ...]
) -> tuple[PortfolioEntryOut, ...]:
    described = zip(found, statuses, strict=True)
    return tuple(_render_entry(each.row, **_describe(each, status)) for each, status in described)


def render_protection(found: AttestedProtection, *, links: Links, now: datetime) -> ProtectionOut:
    """Render a protection for its owner."""
    return _render_protection(
        found.row,
        verify_url=links.public_url(found.attestation_id),
        share_url=links.share_url(found.attestation_id),
        **_describe(found, found.status(now)),
    )


def _describe(found: AttestedProtection, status: Status) -> Mapping[str, object]:
    return {
        "content_hash": found.content_hash,
        "verification_count": found.verification_count,
        "attestation_status": status,
    }
