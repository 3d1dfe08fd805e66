"""Policy context: the attributes that policies see of a mint, a verification or an export (docs/policies.md).

All values are the service's own records as of now, or offline what the log's entries prove; none comes from the
caller. An attribute without a source is missing: the service does not know an assurance level yet. `risk_context` adds
the risk of issuer, document and client where a policy tests it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from attestlab.core.encoding import parse_time
from attestlab.core.errors import ValidationFailed

if TYPE_CHECKING:  # the offline verifier loads no database
    from attestlab.attestations.evidence_queries import RecordEvidence
    from attestlab.attestations.verification.status_proof import StatusHistory
    from attestlab.issuers.store import SigningKey
    from attestlab.policy.active_policies import PolicyContext


def build_mint_context(key: SigningKey, *, now: datetime) -> PolicyContext:
    """Build the context of a mint from the current status of issuer and key."""
    return {
        "jurisdiction": key.jurisdiction,
        "trust_tier": key.trust_tier,
        "status": key.issuer_status.value,
        "risk_rating": key.risk_rating,
        "key.age_days": age_days(key.created_at, now),
        "key.status": key.status.value,
    }


def build_record_context(evidence: RecordEvidence, *, now: datetime) -> PolicyContext:
    """Build the context of a verification or export from the current issuer and key, not those at the mint.

    Attributes of a missing issuer or key are None.
    """
    issuer, key = evidence.issuer, evidence.key
    return {
        "jurisdiction": issuer and issuer.jurisdiction,
        "trust_tier": issuer and issuer.trust_tier,
        "status": issuer and issuer.status,
        "risk_rating": issuer and issuer.risk_rating,
        "key.age_days": key and age_days(key.created_at, now),
        "key.status": key and key.status,
    }


def build_bundle_context(*, issuer: StatusHistory, key: StatusHistory, now: datetime) -> Mapping[str, object]:
    """Build the context of an offline verification from the log entries of issuer and key in a bundle."""
    current, first, newest = (entry.parse().members for entry in (issuer.newest, key.first, key.newest))
    context = {name: current.get(name) for name in ("jurisdiction", "trust_tier", "status", "risk_rating")}
    since = _parse_time_or_none(first.get("at"))
    context["key.age_days"] = None if since is None else age_days(since, now)
    context["key.status"] = newest.get("status")
    return context


def _parse_time_or_none(value: object) -> datetime | None:
    try:
        return parse_time(str(value))
    except ValidationFailed:
        return None


def age_days(since: datetime, now: datetime) -> int:
    """Return the number of whole days between two times, at least 0.

    Whole days, so that all verifications of a key on one day share one policy query, and a decision does not
    reveal the minute.
    """
    return max(0, (now - since).days)
