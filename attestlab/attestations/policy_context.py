"""What policies see of a mint, a verification or an export: the one place that says it (docs/policies.md).

All of it is the service's own knowledge as of now, or offline what the log's entries prove; nothing comes
from whoever asks. What nobody holds is missing: the service does not know an assurance level yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import parse_time

if TYPE_CHECKING:  # the offline verifier loads no database
    from attestlab.attestations.verification.status_proof import StatusHistory
    from attestlab.issuers.store import SigningKey
    from attestlab.policy.active_policies import PolicyContext


def build_mint_context(key: SigningKey, *, now: datetime) -> PolicyContext:
    """The issuer's and the key's standing, as a mint relies on it."""
    return {
        "jurisdiction": key.jurisdiction,
        "trust_tier": key.trust_tier,
        "status": key.issuer_status.value,
        "risk_rating": key.risk_rating,
        "key.age_days": age_days(key.created_at, now),
        "key.status": key.status.value,
    }


def build_record_context(row: Any, *, now: datetime) -> PolicyContext:
    """The same of an attestation with its evidence: how issuer and key stand now, not how they stood at the mint.

    An issuer or a key that is gone is missing.
    """
    return {
        "jurisdiction": row.issuer_jurisdiction,
        "trust_tier": row.issuer_trust_tier,
        "status": row.issuer_status,
        "risk_rating": row.issuer_risk_rating,
        "key.age_days": None if row.key_created_at is None else age_days(row.key_created_at, now),
        "key.status": row.key_status,
    }


def build_bundle_context(*, issuer: StatusHistory, key: StatusHistory, now: datetime) -> Mapping[str, object]:
    """The same as the log's entries in a bundle prove it."""
    standing, first, newest = (entry.parse().members for entry in (issuer.newest, key.first, key.newest))
    told = {name: standing.get(name) for name in ("jurisdiction", "trust_tier", "status", "risk_rating")}
    since = _parse_time_or_none(first.get("at"))
    told["key.age_days"] = None if since is None else age_days(since, now)
    told["key.status"] = newest.get("status")
    return told


def _parse_time_or_none(told: object) -> datetime | None:
    try:
        return parse_time(str(told))
    except ValidationFailed:
        return None


def age_days(since: datetime, now: datetime) -> int:
    """Whole days, never less than none.

    Whole, so that a day's verifications of one key are one question, and an answer says nothing of the minute.
    """
    return max(0, (now - since).days)
