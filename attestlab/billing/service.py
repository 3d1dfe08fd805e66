"""Service of billing: what a tenant subscribes to, what that allows and costs, and how much of it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from attestlab.billing import accounts, charges, renewals, rules, store, thresholds, usage
from attestlab.billing.accounts import BillingAccount
from attestlab.billing.previews import draft_invoice, preview_change
from attestlab.billing.results import (
    AttachedAddOn,
    ChangePreview,
    Entitlements,
    InvoiceState,
    OfferedAddOn,
    PricedPlan,
    SubscriptionState,
    Usage,
)
from attestlab.billing.rules import BillingPeriod, Line, Prices, Provider, SubscriptionStatus, month_of
from attestlab.billing.tables import SubscribedAddOnRecord
from attestlab.billing.thresholds import ReachedThreshold
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import quote
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.core.records.actors import COMMAND_LINE, Actor
from attestlab.core.suggestions import find_nearest
from attestlab.orgs.plans import PLANS, RAISED_BY
from attestlab.orgs.rules import AddOn, Caller, Plan
from attestlab.orgs.service import Orgs
from attestlab.orgs.tables import TenantRecord
from attestlab.settings import Settings, Stage


class Billing:
    """Subscriptions, add-ons, invoices and usage. `tx` is the unit of work to join; without it, a verb commits its own.

    A larger plan and an add-on hold from the next request of any process on; a smaller plan from the next period on.
    """

    def __init__(self, *, storage: Storage, clock: Clock, orgs: Orgs, settings: Settings) -> None:
        self.storage = storage
        self.clock = clock
        self.orgs = orgs
        self.prices = Prices(
            currency=settings.currency,
            starter=settings.price_starter_minor,
            professional=settings.price_professional_minor,
            addon_unit=settings.price_addon_minor,
        )
        self._is_production = settings.env is Stage.PRODUCTION
        self._has_stripe = settings.has_stripe

    def list_plans(self) -> list[PricedPlan]:
        """List all plans, the smallest first."""
        return [PricedPlan(plan, self.prices.plan(plan), self.prices.currency, PLANS[plan]) for plan in Plan]

    def subscription(self, *, caller: Caller, tx: Transaction | None = None) -> SubscriptionState:
        """Return the tenant's subscription."""
        with self.storage.read(tx) as connection:
            return self._describe(accounts.load(connection.execute, caller.tenant_id))

    def change(self, plan: Plan, *, caller: Caller, tx: Transaction | None = None) -> SubscriptionState:
        """Change the plan: to a larger one now, to a smaller one at the end of the period.

        The current plan cancels a pending change.

        Raises:
            Conflict: ENTERPRISE is agreed with the operator, Stripe charges the tenant, or in production only Stripe
                could charge a larger plan.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            account = self._renew_own(tx, caller.tenant_id, now)
            rules.require_self_service(account.plan, plan)
            if rules.is_upgrade(account.plan, plan):
                self._require_collection()
                account = self._move(tx, account, plan, caller, now)
            else:
                account = _postpone(tx, account, plan, caller, now)
            return self._describe(account)

    def set_plan(
        self, tenant_id: UUID, plan: Plan, limits: Mapping[str, int | None], *, tx: Transaction | None = None
    ) -> TenantRecord:
        """Set a tenant's plan now, as its operator, with individual limits that replace earlier ones.

        A larger plan is charged for the rest of the month; a smaller one refunds nothing.

        Raises:
            NotFound: there is no such tenant.
            ValidationFailed: a limit is unknown or not a count.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            before = self._renew(tx, tenant_id, now)
            after = replace(before, tenant=self.orgs.set_plan(tenant_id, plan, limits, tx=tx))
            if before.plan is plan:
                _postpone(tx, after, plan, COMMAND_LINE, now)  # which cancels a pending plan
            else:
                self._charge_move(tx, before, after, COMMAND_LINE, now)
            return after.tenant

    def preview(
        self,
        plan: Plan | None = None,
        quantities: Mapping[AddOn, int] | None = None,
        *,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> ChangePreview:
        """Return what a plan, or other quantities of add-ons, would cost and alter; nothing changes.

        Raises:
            ValidationFailed: the tenant cannot have such a quantity of an add-on.
            Conflict: ENTERPRISE is agreed with the operator.
        """
        for addon, units in (quantities or {}).items():
            rules.require_units(addon, units, least=0, field=f"/addons/{addon}")
        with self.storage.read(tx) as connection:
            account = accounts.load(connection.execute, caller.tenant_id)
            target = account.plan if plan is None else plan
            rules.require_self_service(account.plan, target)
            addons = {key: units for key, units in {**account.addons, **(quantities or {})}.items() if units}
            return preview_change(connection.execute, account, plan, addons, prices=self.prices, now=self.clock.now())

    def list_addons(self, *, caller: Caller) -> list[OfferedAddOn]:
        """List all add-ons, with how many units the tenant has."""
        with self.storage.read() as connection:
            attached = accounts.load(connection.execute, caller.tenant_id).addons
        return [
            OfferedAddOn(
                addon,
                charges.ADDON_NAMES[addon],
                _describe_effect(addon),
                self.prices.addon_unit,
                attached.get(addon, 0),
            )
            for addon in AddOn
        ]

    def attach(self, key: str, quantity: int = 1, *, caller: Caller, tx: Transaction | None = None) -> AttachedAddOn:
        """Attach an add-on, or set how many units of it the tenant has; more units are charged now.

        Raises:
            ValidationFailed: there is no such add-on, or the tenant cannot have this quantity of it.
            Conflict: Stripe charges the tenant, or in production only Stripe could charge more units.
        """
        addon = _read_addon(key)
        rules.require_units(addon, quantity, least=1, field="/quantity")
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            account = self._renew_own(tx, caller.tenant_id, now)
            is_new = addon not in account.addons
            if quantity > account.addons.get(addon, 0):
                self._require_collection()
            return AttachedAddOn(self._set_quantity(tx, account, addon, quantity, caller, now), is_new)

    def detach(self, key: str, *, caller: Caller, tx: Transaction | None = None) -> SubscribedAddOnRecord:
        """Detach an add-on with all its units now; nothing is refunded.

        Raises:
            NotFound: it is not attached.
            Conflict: Stripe charges the tenant.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            account = self._renew_own(tx, caller.tenant_id, now)
            if key not in account.addons:
                raise NotFound("attached add-on", quote(key[:64]))
            return self._set_quantity(tx, account, AddOn(key), 0, caller, now)

    def page_invoices(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> list[InvoiceState]:
        """List the tenant's invoices, newest first."""
        with self.storage.read() as connection:
            rows = store.page_invoices(connection, tenant_id=caller.tenant_id, before=before, limit=limit)
        return [InvoiceState.of(row) for row in rows]

    def list_invoices(self, tenant_id: UUID) -> list[InvoiceState]:
        """List all invoices of a tenant, newest first, for the operator.

        Raises:
            NotFound: there is no such tenant.
        """
        with self.storage.read() as connection:
            accounts.load(connection.execute, tenant_id)
            rows = store.page_invoices(connection, tenant_id=tenant_id, before=None, limit=None)
        return [InvoiceState.of(row) for row in rows]

    def get_invoice(self, invoice_id: UUID, *, caller: Caller) -> InvoiceState:
        """Return an invoice of the tenant.

        Raises:
            NotFound: the tenant has no such invoice.
        """
        with self.storage.read() as connection:
            row = store.get_invoice(connection.execute, invoice_id, tenant_id=caller.tenant_id)
        return InvoiceState.of(row)

    def preview_invoice(self, *, caller: Caller) -> InvoiceState:
        """Return the draft of the next period's invoice, if nothing changes until then."""
        with self.storage.read() as connection:
            account = accounts.load(connection.execute, caller.tenant_id)
        return draft_invoice(account.next_plan, account.addons, prices=self.prices, now=self.clock.now())

    def usage(self, period: BillingPeriod | None = None, *, caller: Caller) -> Usage:
        """Return what the tenant used in a period, by default in the current one.

        Raises:
            ValidationFailed: the period is yet to come.
        """
        now = self.clock.now()
        current = month_of(now)
        asked = period or current
        if asked.start > current.start:
            message = f"{asked.start:%Y-%m} is yet to come. Send {current.start:%Y-%m} or an earlier month."
            raise ValidationFailed.of("/period", "future", message)
        with self.storage.read() as connection:
            execute = connection.execute
            account = accounts.load(execute, caller.tenant_id)
            days = usage.list_days(execute, caller.tenant_id, asked, now=now)
            if asked == current:
                return Usage(asked, usage.measure_now(execute, account, days[-1], now=now), days)
            return Usage(asked, usage.measure_past(account, days), days)

    def entitlements(self, *, caller: Caller) -> Entitlements:
        """Return what the tenant may use now: the limits of its plan, the operator's adjustments and its add-ons."""
        with self.storage.read() as connection:
            account = accounts.load(connection.execute, caller.tenant_id)
        return Entitlements(account.plan, account.allowance, account.addons)

    def find_thresholds(self) -> list[ReachedThreshold]:
        """Find the thresholds that today's use reached and that are not published, without the writer's lock."""
        with self.storage.read() as connection:
            return thresholds.find_daily(connection.execute, self.clock.now())

    def publish_thresholds(self, tx: Transaction, *, found: Sequence[ReachedThreshold]) -> None:
        """Publish thresholds that `find_thresholds` found, each once."""
        thresholds.publish(tx, found, self.clock.now())

    def has_due_renewals(self) -> bool:
        """Whether the period of a subscription is over, without the writer's lock."""
        with self.storage.read() as connection:
            return renewals.are_due(connection.execute, self.clock.now())

    def renew_due(self, tx: Transaction) -> bool:
        """Renew some of the subscriptions whose period is over; returns whether there may be more."""
        return renewals.renew_due(tx, self.prices, self.clock.now())

    def watch_counts(self, tx: Transaction) -> None:
        """Publish what the counts of a transaction's tenants reached, just before its commit."""
        thresholds.publish_counts(tx, self.clock)

    def _require_collection(self) -> None:
        rules.require_collection(is_production=self._is_production, has_stripe=self._has_stripe)

    def _renew(self, tx: Transaction, tenant_id: UUID, now: datetime) -> BillingAccount:
        return renewals.renew(tx, accounts.load(tx.exec, tenant_id), self.prices, now)

    def _renew_own(self, tx: Transaction, tenant_id: UUID, now: datetime) -> BillingAccount:
        """Renew the account of a tenant that this service charges.

        Raises:
            Conflict: Stripe charges the tenant.
        """
        account = self._renew(tx, tenant_id, now)
        rules.require_own_charge(None if account.subscription is None else account.subscription.provider)
        return account

    def _move(self, tx: Transaction, before: BillingAccount, plan: Plan, actor: Actor, now: datetime) -> BillingAccount:
        after = accounts.set_plan(tx, before, plan, actor, now)
        return self._charge_move(tx, before, after, actor, now)

    def _charge_move(
        self, tx: Transaction, before: BillingAccount, after: BillingAccount, actor: Actor, now: datetime
    ) -> BillingAccount:
        """Charge a plan that the tenant has from now on for the rest of the month, and publish the change."""
        covered, plan = before.covered_plan, after.plan
        row = accounts.open_subscription(tx, before, actor, now)
        is_first = row.paid_since is None and plan is not Plan.FREE
        changes = {
            "covered_plan": plan.value if self.prices.is_dearer(plan, covered) else covered.value,
            "pending_plan": None,
            "pending_at": None,
            "paid_since": now if is_first else row.paid_since,
        }
        after = accounts.change_subscription(tx, replace(after, subscription=row), changes, actor, now)
        self._issue(tx, after, charges.charge_plan(self.prices, covered, plan, now), actor, now)
        if is_first:
            accounts.publish_creation(tx, after, now)
        else:
            accounts.publish_change(tx, after, ["plan"], now)
        return after

    def _set_quantity(
        self, tx: Transaction, account: BillingAccount, addon: AddOn, quantity: int, caller: Caller, now: datetime
    ) -> SubscribedAddOnRecord:
        found = next((row for row in account.rows if row.addon_key == addon), None)
        if found is not None and found.quantity == quantity:
            return found
        subscription = accounts.open_subscription(tx, account, caller, now)
        account = replace(account, subscription=subscription)
        lines = charges.charge_addons(self.prices, account.covered_addons, {addon: quantity}, now)
        row = accounts.set_quantity(tx, account, addon, quantity, caller, now)
        self._issue(tx, account, lines, caller, now)
        accounts.publish_change(tx, account, ["addons"], now)
        return row

    def _issue(self, tx: Transaction, account: BillingAccount, lines: list[Line], actor: Actor, now: datetime) -> None:
        period = BillingPeriod(now, month_of(now).end)
        accounts.issue_invoice(tx, account, lines, period=period, currency=self.prices.currency, actor=actor, at=now)

    def _describe(self, account: BillingAccount) -> SubscriptionState:
        row = account.subscription
        period = month_of(self.clock.now())
        return SubscriptionState(
            id=account.tenant.id,
            plan=account.plan,
            status=SubscriptionStatus.ACTIVE.value if row is None else row.status,
            current_period_start=period.start,
            current_period_end=period.end,
            pending_plan=account.pending_plan,
            pending_at=None if row is None else row.pending_at,
            provider=Provider.EMBEDDED.value if row is None else row.provider,
            addons=[each for each in account.rows if each.detached_at is None],
            amount_minor=self.prices.total(account.plan, account.addons),
            currency=self.prices.currency,
        )


def _postpone(tx: Transaction, account: BillingAccount, plan: Plan, actor: Actor, now: datetime) -> BillingAccount:
    """Let a smaller plan begin with the next period; the current one cancels a pending plan."""
    pending = None if plan is account.plan else plan.value
    if pending == account.pending_plan:
        return account
    changes = {"pending_plan": pending, "pending_at": None if pending is None else month_of(now).end}
    account = accounts.change_subscription(tx, account, changes, actor, now)
    accounts.publish_change(tx, account, ["pending_plan"], now)
    return account


def _read_addon(key: str) -> AddOn:
    if key in list(AddOn):
        return AddOn(key)
    nearest = find_nearest(key, AddOn)
    hint = f"Did you mean {nearest}?" if nearest else f"Send one of {', '.join(AddOn)}."
    raise ValidationFailed.of("/addon_key", "unknown", f"There is no add-on {quote(key[:64])}. {hint}")


def _describe_effect(addon: AddOn) -> str:
    if addon not in RAISED_BY:
        return "Support answers first."
    limit, units = RAISED_BY[addon]
    return f"+{units:,} {limit} a unit"
