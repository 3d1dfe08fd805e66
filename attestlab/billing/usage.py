"""Usage of what a plan allows: of a day for attestations and verifications, of the present for what is counted.

Each count is the one that the limit itself is enforced with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import select

from attestlab.agents import store as agent_store
from attestlab.attestations import store as attestation_store
from attestlab.billing.accounts import BillingAccount
from attestlab.billing.rules import BillingPeriod, percent_of
from attestlab.core.db.tables import Execute, fetch_all, table_of
from attestlab.issuers import store as issuer_store
from attestlab.orgs import quotas
from attestlab.orgs.plans import Allowance
from attestlab.orgs.usage import ATTESTATIONS, VERIFICATIONS, UsageDay
from attestlab.policy import store as policy_store
from attestlab.receipts.types import store as receipt_type_store
from attestlab.webhooks import endpoint_store

CountUsed = Callable[[Execute, UUID], int]

usage_days = table_of(UsageDay)
DAILY: Final[Mapping[str, str]] = {ATTESTATIONS: "attestations_per_day", VERIFICATIONS: "verifications_per_day"}
COUNTS: Final[Mapping[str, CountUsed]] = {
    "issuers": issuer_store.count,
    "webhook_endpoints": endpoint_store.count_endpoints,
    "agents": agent_store.count,
    "policies": policy_store.count_open,
    "verification_profiles": policy_store.count_profiles,
    "attestation_packs": attestation_store.count_packs,
    "receipt_types": receipt_type_store.count_active_names,
}
"""How the tenant's number of each countable resource is found; limits have the same names."""


class DayUse(NamedTuple):
    """What a tenant used on one UTC day."""

    day: date
    verifications: int
    attestations: int


class ResourceUse(NamedTuple):
    """How much of a limit is used; a daily one begins at 0 again at `resets_at`."""

    resource: str
    used: int
    limit: int | None
    resets_at: datetime | None

    @property
    def remaining(self) -> int | None:
        """What is left; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def percent(self) -> int | None:
        """The use in whole percent of the limit; None without a limit."""
        return percent_of(self.used, self.limit)


def limit_of(allowance: Allowance, resource: str) -> int | None:
    """Return the limit of a resource."""
    limit: int | None = getattr(allowance, DAILY.get(resource, resource))
    return limit


def used_today(execute: Execute, tenant_id: UUID, resource: str, *, now: datetime) -> int:
    """Return today's use of a daily resource."""
    today = (usage_days.c.tenant_id == tenant_id, usage_days.c.metric == resource, usage_days.c.day == now.date())
    return int(execute(select(usage_days.c.used).where(*today)).scalar() or 0)


def list_days(execute: Execute, tenant_id: UUID, period: BillingPeriod, *, now: datetime) -> list[DayUse]:
    """List every day of a period until today, oldest first, with days without any use."""
    query = select(usage_days.c.day, usage_days.c.metric, usage_days.c.used).where(
        usage_days.c.tenant_id == tenant_id,
        usage_days.c.metric.in_(DAILY),
        usage_days.c.day >= period.start.date(),
        usage_days.c.day < period.end.date(),
    )
    used = {(row.day, row.metric): row.used for row in fetch_all(execute(query), _DayMetric)}
    days = (min(now.astimezone(UTC), period.end - timedelta(days=1)).date() - period.start.date()).days + 1
    listed = [period.start.date() + timedelta(days=number) for number in range(days)]
    return [DayUse(day, used.get((day, VERIFICATIONS), 0), used.get((day, ATTESTATIONS), 0)) for day in listed]


class _DayMetric(NamedTuple):
    day: date
    metric: str
    used: int


def measure_now(execute: Execute, account: BillingAccount, today: DayUse, *, now: datetime) -> list[ResourceUse]:
    """Measure every resource: daily ones by today's use, the others by what the tenant has."""
    daily = {VERIFICATIONS: today.verifications, ATTESTATIONS: today.attestations}
    resets_at = quotas.next_utc_day(now)
    measured = [ResourceUse(name, used, limit_of(account.allowance, name), resets_at) for name, used in daily.items()]
    return measured + [
        ResourceUse(name, count(execute, account.tenant.id), limit_of(account.allowance, name), None)
        for name, count in COUNTS.items()
    ]


def measure_past(account: BillingAccount, days: list[DayUse]) -> list[ResourceUse]:
    """Measure a period that is over: of each daily resource the day with the most use, against today's limit."""
    most = {
        VERIFICATIONS: max(day.verifications for day in days),
        ATTESTATIONS: max(day.attestations for day in days),
    }
    return [ResourceUse(name, used, limit_of(account.allowance, name), None) for name, used in most.items()]
