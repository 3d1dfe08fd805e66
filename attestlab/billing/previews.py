"""Previews of changes: what they cost, from when on they hold, and what would be over a limit. Nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from attestlab.billing import charges, rules
from attestlab.billing.accounts import BillingAccount
from attestlab.billing.results import ChangePreview, InvoiceState, LimitEffect
from attestlab.billing.rules import InvoiceStatus, Prices, month_of
from attestlab.billing.usage import COUNTS, DAILY, limit_of, used_today
from attestlab.core.db.tables import Execute
from attestlab.orgs.plans import ADJUSTABLE, allowance_for, encode_addons
from attestlab.orgs.rules import AddOn, Plan


def preview_change(
    execute: Execute,
    account: BillingAccount,
    plan: Plan | None,
    addons: Mapping[AddOn, int],
    *,
    prices: Prices,
    now: datetime,
) -> ChangePreview:
    """Preview another plan, or the current one for None, together with these quantities of add-ons."""
    target = account.plan if plan is None else plan
    is_downgrade = rules.is_upgrade(target, account.plan)
    due = charges.charge_addons(prices, account.covered_addons, addons, now)
    if not is_downgrade:
        due += charges.charge_plan(prices, account.covered_plan, target, now)
    return ChangePreview(
        effective_at=month_of(now).end if is_downgrade else now,
        due_now_minor=charges.sum_lines(due),
        next_invoice=draft_invoice(account.next_plan if plan is None else plan, addons, prices=prices, now=now),
        effects=_list_effects(execute, account, target, addons, now),
    )


def draft_invoice(plan: Plan, addons: Mapping[AddOn, int], *, prices: Prices, now: datetime) -> InvoiceState:
    """Draft the invoice of the next period."""
    period = month_of(month_of(now).end)
    lines = charges.charge_month(prices, plan, addons)
    return InvoiceState(
        id=None,
        number=None,
        status=InvoiceStatus.DRAFT.value,
        period_start=period.start,
        period_end=period.end,
        currency=prices.currency,
        amount_minor=charges.sum_lines(lines),
        lines=lines,
        created_at=now,
    )


def _list_effects(
    execute: Execute, account: BillingAccount, plan: Plan, addons: Mapping[AddOn, int], now: datetime
) -> list[LimitEffect]:
    """List the limits that a change alters."""
    before = account.allowance
    after = allowance_for(plan.value, account.tenant.adjusted, encode_addons(addons))
    return [
        LimitEffect(name, limit_of(before, name), limit_of(after, name), _count_used(execute, account, name, now))
        for name in _list_resources()
        if limit_of(before, name) != limit_of(after, name)
    ]


def _list_resources() -> list[str]:
    """List all limits by the names of their resources."""
    names = {limit: resource for resource, limit in DAILY.items()}
    return [names.get(limit, limit) for limit in ADJUSTABLE]


def _count_used(execute: Execute, account: BillingAccount, resource: str, now: datetime) -> int | None:
    if resource in DAILY:
        return used_today(execute, account.tenant.id, resource, now=now)
    return COUNTS[resource](execute, account.tenant.id) if resource in COUNTS else None
