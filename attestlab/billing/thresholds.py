"""Thresholds of usage: 80, 90 and 100 percent of what a plan allows, published once a period.

What is counted (issuers, webhook endpoints) is watched by a hook in the transaction that makes one more. What is used
by the day (attestations, verifications) is looked up by the sweeper every few seconds, so that no mint and no
verification waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import and_, or_, select

from attestlab.billing import accounts, store
from attestlab.billing.events import UsageThresholdReached
from attestlab.billing.rules import THRESHOLDS, highest_threshold, month_of
from attestlab.billing.tables import UsageThresholdRecord
from attestlab.billing.usage import COUNTS, DAILY, limit_of, usage_days
from attestlab.core.clock import Clock
from attestlab.core.db.tables import Execute, fetch_all
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audit, outbox
from attestlab.orgs.plans import allowance_for
from attestlab.orgs.store import tenants

LATE_USE: Final = timedelta(minutes=10)  # after midnight, for what the last sweep of a day could not see
_COUNTED_BY: Final = {
    "issuer.create": ("issuers",),
    "webhook_endpoint.create": ("webhook_endpoints",),
    "agent.register": ("agents",),
    "policy.create": ("policies",),
    "verification_profile.create": ("verification_profiles",),
    "attestation_pack.create": ("attestation_packs",),
    "receipt_type.create": ("receipt_types",),
    "tenant.plan": tuple(COUNTS),
    "tenant.addons": tuple(COUNTS),
}
"""The resources whose use an audited action may bring to a threshold."""


class ReachedThreshold(NamedTuple):
    """A threshold that a tenant's use of a resource reached in a period."""

    tenant_id: UUID
    resource: str
    used: int
    limit: int
    percent: int
    period_start: datetime


class _DailyUse(NamedTuple):
    tenant_id: UUID
    metric: str
    used: int
    plan: str
    adjusted: str | None
    addons: str | None
    percent: int | None


def find_daily(execute: Execute, now: datetime) -> list[ReachedThreshold]:
    """Find what reached a higher threshold of its day than the published one."""
    days = {(now - LATE_USE).astimezone(UTC).date(), now.astimezone(UTC).date()}
    return [reached for day in sorted(days) for reached in _find_of_day(execute, day)]


def _find_of_day(execute: Execute, day: date) -> Iterator[ReachedThreshold]:
    start = datetime.combine(day, time(), UTC)
    published = store.thresholds.c.threshold_percent
    of_use = and_(
        store.thresholds.c.tenant_id == usage_days.c.tenant_id,
        store.thresholds.c.resource == usage_days.c.metric,
        store.thresholds.c.period_start == start,
    )
    columns = (usage_days.c.tenant_id, usage_days.c.metric, usage_days.c.used)
    limits = (tenants.c.plan, tenants.c.adjusted, tenants.c.addons)
    query = (
        select(*columns, *limits, published)
        .join(tenants, tenants.c.id == usage_days.c.tenant_id)
        .outerjoin(store.thresholds, of_use)
        .where(
            usage_days.c.day == day,
            usage_days.c.metric.in_(DAILY),
            tenants.c.realm.is_(None),
            or_(published.is_(None), published < THRESHOLDS[-1]),
        )
    )
    for row in fetch_all(execute(query), _DailyUse):
        limit = limit_of(allowance_for(row.plan, row.adjusted, row.addons), row.metric)
        percent = highest_threshold(row.used, limit)
        if limit is not None and percent is not None and percent > (row.percent or 0):
            yield ReachedThreshold(row.tenant_id, row.metric, row.used, limit, percent, start)


def publish(tx: Transaction, found: Iterable[ReachedThreshold], at: datetime) -> None:
    """Publish each threshold that is higher than the one that its period had so far."""
    for reached in found:
        tenant_id, resource, period_start = reached.tenant_id, reached.resource, reached.period_start
        if reached.percent <= (store.find_threshold(tx.exec, tenant_id, resource, period_start) or 0):
            continue
        row = UsageThresholdRecord(tenant_id, resource, period_start, reached.percent, at)
        store.KEEP_THRESHOLD.run(tx.connection, row._asdict())
        event = UsageThresholdReached(
            resource=resource,
            threshold_percent=reached.percent,
            used=reached.used,
            limit=reached.limit,
            period_start=period_start,
            reached_at=at,
        )
        outbox.publish(tx, tenant_id, event, at=at)


def publish_counts(tx: Transaction, clock: Clock) -> None:
    """Publish the thresholds that the audited actions of a transaction brought counts to."""
    changed = {
        (entry.tenant_id, resource): None
        for entry in tx.buffer(audit.BUFFER)
        if entry.action in _COUNTED_BY and entry.outcome == "SUCCESS"
        for resource in _COUNTED_BY[entry.action]
    }
    if changed:
        now = clock.now()
        publish(tx, _find_counts(tx.exec, changed, now), now)


def _find_counts(execute: Execute, changed: Iterable[tuple[UUID, str]], now: datetime) -> Iterator[ReachedThreshold]:
    for tenant_id, resource in changed:
        allowance = accounts.load(execute, tenant_id).allowance
        limit = limit_of(allowance, resource)
        if limit is None:
            continue
        used = COUNTS[resource](execute, tenant_id)
        percent = highest_threshold(used, limit)
        if percent is not None:
            yield ReachedThreshold(tenant_id, resource, used, limit, percent, month_of(now).start)
