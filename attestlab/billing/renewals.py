"""Renewals: what a new month brings, made permanent by the sweeper, or by the first change of a tenant's billing."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attestlab.billing import accounts, store
from attestlab.billing.accounts import BillingAccount
from attestlab.billing.charges import charge_month
from attestlab.billing.rules import Prices, month_of
from attestlab.billing.tables import SubscriptionRecord
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.records.actors import SystemActor
from attestlab.orgs.rules import Plan

BILLING: Final = SystemActor("billing")
MAX_RENEWALS_PER_WRITE: Final = 10  # hold the writer's lock for some fifty milliseconds


def are_due(execute: Execute, now: datetime) -> bool:
    """Whether the period of a subscription is over."""
    return bool(store.list_due(execute, now, limit=1))


def renew_due(tx: Transaction, prices: Prices, now: datetime) -> bool:
    """Renew at most `MAX_RENEWALS_PER_WRITE` subscriptions; returns whether there may be more."""
    due = store.list_due(tx.exec, now, limit=MAX_RENEWALS_PER_WRITE)
    for row in due:
        renew(tx, accounts.load(tx.exec, row.tenant_id), prices, now)
    return len(due) == MAX_RENEWALS_PER_WRITE


def renew(tx: Transaction, account: BillingAccount, prices: Prices, now: datetime) -> BillingAccount:
    """Begin every period that started since the last one that was charged, and return the account as it is then."""
    while (row := account.subscription) is not None and row.billed_until <= now:
        account = _begin_period(tx, account, row, prices, now)
    return account


def _begin_period(
    tx: Transaction, account: BillingAccount, row: SubscriptionRecord, prices: Prices, now: datetime
) -> BillingAccount:
    """Apply the pending plan, and charge plan and add-ons for the whole month."""
    period = month_of(row.billed_until)
    if row.pending_plan is not None:
        account = accounts.set_plan(tx, account, Plan(row.pending_plan), BILLING, now)
        accounts.publish_change(tx, account, ["plan", "pending_plan"], now)
    account = accounts.cover_addons(tx, account, BILLING, now)
    changes = {
        "covered_plan": account.tenant.plan,
        "billed_until": period.end,
        "pending_plan": None,
        "pending_at": None,
    }
    account = accounts.change_subscription(tx, account, changes, BILLING, now)
    lines = charge_month(prices, account.plan, account.addons)
    accounts.issue_invoice(tx, account, lines, period=period, currency=prices.currency, actor=BILLING, at=now)
    return account
