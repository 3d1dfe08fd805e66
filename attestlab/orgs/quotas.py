"""Quotas of plans, each enforced where it is consumed.

Attestations, issuers and keys are counted under the writer lock, in the transaction that uses them; verifications
in the shared counters (`attestations/metering/daily_meter.py`). Either way exactly as many succeed as the plan
allows, however many processes serve requests concurrently.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta

from sqlalchemy import Connection

from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import BillingLimit, QuotaExceeded, RateLimited
from attestlab.core.limits.rate_counters import Count
from attestlab.orgs import usage
from attestlab.orgs.plans import Allowance, allowance_for
from attestlab.orgs.rules import Caller
from attestlab.orgs.usage import UsagePlace

DAY_S = 86_400
UPGRADE_URL = "/v1/billing/plans"
"""Where a refused client learns what more there is, as `details.upgrade_url`."""


def allowance_of(caller: Caller) -> Allowance:
    """Return the allowance of the caller's tenant."""
    return allowance_for(caller.plan, caller.adjusted, caller.addons)


def require_capacity(resource: str, limit: int | None, used: Callable[[], int]) -> None:
    """Require that the plan allows one more; `used` is called only if there is a limit.

    Raises:
        QuotaExceeded: `details` are `{resource, limit, used, upgrade_url}`.
    """
    if limit is not None and (current := used()) >= limit:
        raise QuotaExceeded(
            f"The plan allows {limit} {resource.replace('_', ' ')}. Choose a larger plan or an add-on.",
            details={"resource": resource, "limit": limit, "used": current, "upgrade_url": UPGRADE_URL},
        )


def require_within_limit(resource: str, limit: int | None, wanted: int, used: int) -> None:
    """Require that a replacement holds no more than the plan allows; `used` is the tenant's current number.

    Raises:
        QuotaExceeded: `details` are `{resource, limit, used, upgrade_url}`.
    """
    if limit is not None and wanted > limit:
        raise QuotaExceeded(
            f"The plan allows {limit} {resource.replace('_', ' ')}, and {wanted} were sent. Send fewer, or choose a "
            "larger plan.",
            details={"resource": resource, "limit": limit, "used": used, "upgrade_url": UPGRADE_URL},
        )


def spent_today(connection: Connection, caller: Caller, metric: str, *, at: datetime) -> Count | None:
    """Return the daily limit that the caller's tenant has exhausted; None if there is room, or no limit."""
    limit = allowance_of(caller).attestations_per_day if metric == usage.ATTESTATIONS else None
    if limit is None or usage.get_used(connection, caller.tenant_id, metric, at.date()) < limit:
        return None
    wait_s = (next_utc_day(at) - at).total_seconds()
    return Count(False, limit, 0, DAY_S, at.timestamp() + wait_s, wait_s)


def count_attestation(tx: Transaction, caller: Caller, *, at: datetime) -> None:
    """Count one attestation of the caller's tenant, per UTC day.

    Raises:
        RateLimited: the plan's daily limit is reached.
    """
    require_attestation(caller, lambda: usage.used_with_pending(tx, caller.tenant_id, usage.ATTESTATIONS, at=at), at=at)
    usage.count_use(tx, caller.tenant_id, usage.ATTESTATIONS, at=at)


def require_attestation(caller: Caller, used: Callable[[], int], *, at: datetime) -> None:
    """Require that the caller's plan allows one more attestation today; `used` is called only if there is a limit.

    Raises:
        RateLimited: the plan's daily limit is reached; `details` have `upgrade_url` too.
    """
    limit = allowance_of(caller).attestations_per_day
    if limit is not None and used() >= limit:
        message = (
            f"Daily quota of {limit} attestations reached (resets at 00:00 UTC). Choose a larger plan to mint more."
        )
        wait_s = (next_utc_day(at) - at).total_seconds()
        refusal = RateLimited.of_limit(message, limit=limit, window_s=DAY_S, wait_s=wait_s)
        refusal.details["upgrade_url"] = UPGRADE_URL
        raise refusal


def foresee_attestation(foreseen: Foreseen, caller: Caller, *, at: datetime) -> None:
    """Name the usage that `count_attestation` will read, if the caller's plan limits it."""
    if allowance_of(caller).attestations_per_day is not None:
        usage.USED.foresee(foreseen, UsagePlace(caller.tenant_id, usage.ATTESTATIONS, at.date()))


def verifications_exhausted(limit: int, *, at: datetime) -> BillingLimit:
    """Build the error for a verification beyond the daily `limit` of the issuer's plan."""
    return BillingLimit(
        f"The issuer's daily quota of {limit} verifications is reached (resets at 00:00 UTC). Verify offline.",
        details={
            "resource": usage.VERIFICATIONS,
            "limit": limit,
            "resets_at": f"{next_utc_day(at):%Y-%m-%dT%H:%M:%SZ}",
            "upgrade_url": UPGRADE_URL,
        },
    )


def next_utc_day(at: datetime) -> datetime:
    """Return the start of the next UTC day."""
    return datetime.combine(at.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
