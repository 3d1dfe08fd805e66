"""Protections as wire models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from attestlab.attestations.rules import Status
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.share_links import Links
from attestlab.protections.shapes import (
    PortfolioEntryOut,
    PortfolioOut,
    PortfolioUserOut,
    ProtectionOut,
    VerificationDayOut,
)
from attestlab.protections.store import AttestedProtection
from attestlab.protections.tables import ProtectionDayRecord, ProtectionRecord

_ATTESTED = ("content_hash", "verification_count", "attestation_status")
_render_entry = RowRenderer(PortfolioEntryOut, ProtectionRecord, computed=_ATTESTED)
_render_protection = RowRenderer(ProtectionOut, ProtectionRecord, computed=[*_ATTESTED, "verify_url", "share_url"])
render_day = RowRenderer(VerificationDayOut, ProtectionDayRecord)


def render_portfolio(
    account: PersonalAccount, found: Sequence[AttestedProtection], *, at: datetime, next_cursor: str | None
) -> PortfolioOut:
    """Render a portfolio for everyone, as it is at a time."""
    user = PortfolioUserOut(name=account.name, username=str(account.username), bio=account.bio)
    entries = [_render_entry(each.row, **_describe(each, each.status(at))) for each in found]
    return PortfolioOut(user=user, protections=entries, next_cursor=next_cursor)


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
