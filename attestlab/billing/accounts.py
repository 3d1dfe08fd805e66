"""The billing account of a tenant: its plan, subscription and add-ons, read at once, and the writes that change them.

Every function of this module that takes a `tx` holds the writer's lock, so that of concurrent changes each one sees the
result of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from attestlab.billing import store
from attestlab.billing.charges import sum_lines
from attestlab.billing.events import InvoiceCreated, SubscriptionCreated, SubscriptionUpdated
from attestlab.billing.rules import BillingPeriod, InvoiceStatus, Line, Provider, SubscriptionStatus, month_of
from attestlab.billing.tables import InvoiceRecord, SubscribedAddOnRecord, SubscriptionRecord
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import store as org_store
from attestlab.orgs.plans import Allowance, allowance_for, decode_addons, encode_addons
from attestlab.orgs.rules import AddOn, Plan
from attestlab.orgs.tables import TenantRecord


@dataclass(frozen=True, slots=True)
class BillingAccount:
    """A tenant with its subscription, as a read found it; `rows` are the add-ons that it has or had."""

    tenant: TenantRecord
    subscription: SubscriptionRecord | None
    rows: list[SubscribedAddOnRecord] = field(repr=False)

    @property
    def plan(self) -> Plan:
        """The plan that the tenant has now."""
        return Plan(self.tenant.plan)

    @property
    def addons(self) -> dict[AddOn, int]:
        """The attached add-ons with their quantities."""
        return decode_addons(self.tenant.addons)

    @property
    def allowance(self) -> Allowance:
        """The limits that hold now."""
        return allowance_for(self.tenant.plan, self.tenant.adjusted, self.tenant.addons)

    @property
    def pending_plan(self) -> str | None:
        """The plan that follows at the end of the period, if it is another one."""
        return None if self.subscription is None else self.subscription.pending_plan

    @property
    def next_plan(self) -> Plan:
        """The plan of the next period, if nothing changes until then."""
        return Plan(self.pending_plan or self.tenant.plan)

    @property
    def covered_plan(self) -> Plan:
        """The plan that is paid until the end of the month; what came before the first change was never charged."""
        return self.plan if self.subscription is None else Plan(self.subscription.covered_plan)

    @property
    def covered_addons(self) -> dict[AddOn, int]:
        """The units of add-ons that are paid until the end of the month."""
        return {AddOn(row.addon_key): row.covered_quantity for row in self.rows}


def load(execute: Execute, tenant_id: UUID) -> BillingAccount:
    """Load the account of a tenant.

    Raises:
        NotFound: there is no such tenant.
    """
    tenant = org_store.get_tenant(execute, tenant_id)
    return BillingAccount(tenant, store.find_subscription(execute, tenant_id), store.list_addons(execute, tenant_id))


def open_subscription(tx: Transaction, account: BillingAccount, actor: Actor, at: datetime) -> SubscriptionRecord:
    """Return the subscription of an account, which its first change creates."""
    if account.subscription is not None:
        return account.subscription
    row = SubscriptionRecord(
        tenant_id=account.tenant.id,
        status=SubscriptionStatus.ACTIVE.value,
        provider=Provider.EMBEDDED.value,
        covered_plan=account.tenant.plan,
        billed_until=month_of(at).end,
        pending_plan=None,
        pending_at=None,
        paid_since=None if account.plan is Plan.FREE else at,
        created_at=at,
        updated_at=at,
    )
    return audited_write.insert(tx, store.subscriptions, row, _context(account, actor, "subscription.create", at))


def change_subscription(
    tx: Transaction, account: BillingAccount, changes: Mapping[str, object], actor: Actor, at: datetime
) -> BillingAccount:
    """Change columns of the subscription, and return the account with them."""
    row = open_subscription(tx, account, actor, at)
    context = _context(account, actor, "subscription.update", at)
    changed = audited_write.change(tx, store.subscriptions, row, {**changes, "updated_at": at}, context)
    return replace(account, subscription=changed)


def set_plan(tx: Transaction, account: BillingAccount, plan: Plan, actor: Actor, at: datetime) -> BillingAccount:
    """Give the tenant another plan, which holds from the next request of any process on."""
    context = _context(account, actor, "tenant.plan", at, plan=plan.value)
    tenant = audited_write.change(tx, org_store.tenants, account.tenant, {"plan": plan.value}, context)
    return replace(account, tenant=tenant)


def set_quantity(
    tx: Transaction, account: BillingAccount, addon: AddOn, quantity: int, actor: Actor, at: datetime
) -> SubscribedAddOnRecord:
    """Set how many units of an add-on the tenant has; 0 detaches it."""
    addons = {**account.addons, addon: quantity}
    stored = encode_addons({key: units for key, units in addons.items() if units})
    context = _context(account, actor, "tenant.addons", at)
    audited_write.change(tx, org_store.tenants, account.tenant, {"addons": stored}, context)
    found = next((row for row in account.rows if row.addon_key == addon), None)
    if found is None:
        row = SubscribedAddOnRecord(new_id(at), account.tenant.id, addon.value, quantity, quantity, at)
        return audited_write.insert(tx, store.subscribed_addons, row, _context(account, actor, "addon.attach", at))
    changes: dict[str, object] = {
        "quantity": quantity,
        "covered_quantity": max(quantity, found.covered_quantity),
        "attached_at": found.attached_at if found.detached_at is None else at,
        "detached_at": None if quantity else at,
    }
    context = _context(account, actor, "addon.attach" if quantity else "addon.detach", at)
    return audited_write.change(tx, store.subscribed_addons, found, changes, context)


def cover_addons(tx: Transaction, account: BillingAccount, actor: Actor, at: datetime) -> BillingAccount:
    """Note that exactly the attached units are paid from now on."""
    rows = [_cover(tx, account, row, actor, at) for row in account.rows]
    return replace(account, rows=rows)


def _cover(
    tx: Transaction, account: BillingAccount, row: SubscribedAddOnRecord, actor: Actor, at: datetime
) -> SubscribedAddOnRecord:
    if row.covered_quantity == row.quantity:
        return row
    context = _context(account, actor, "addon.renew", at)
    return audited_write.change(tx, store.subscribed_addons, row, {"covered_quantity": row.quantity}, context)


def issue_invoice(
    tx: Transaction,
    account: BillingAccount,
    lines: Iterable[Line],
    *,
    period: BillingPeriod,
    currency: str,
    actor: Actor,
    at: datetime,
) -> InvoiceRecord | None:
    """Issue an invoice and publish its event; None if nothing is due, or Stripe charges the tenant."""
    listed = list(lines)
    is_own = account.subscription is None or account.subscription.provider != Provider.STRIPE
    if not (amount := sum_lines(listed)) or not is_own:
        return None
    row = InvoiceRecord(
        id=new_id(at),
        tenant_id=account.tenant.id,
        serial=store.next_serial(tx.exec, account.tenant.id),
        status=InvoiceStatus.OPEN.value,
        period_start=period.start,
        period_end=period.end,
        currency=currency,
        amount_minor=amount,
        lines=store.encode_lines(listed),
        created_at=at,
    )
    audited_write.insert(tx, store.invoices, row, _context(account, actor, "invoice.create", at))
    event = InvoiceCreated(invoice_id=row.id, amount_minor=amount, currency=currency, created_at=at)
    outbox.publish(tx, account.tenant.id, event, at=at)
    return row


def publish_change(tx: Transaction, account: BillingAccount, changed: Iterable[str], at: datetime) -> None:
    """Publish that a subscription changed."""
    names = ",".join(sorted(changed))
    event = SubscriptionUpdated(account.tenant.id, account.tenant.plan, names, at)
    outbox.publish(tx, account.tenant.id, event, at=at)


def publish_creation(tx: Transaction, account: BillingAccount, at: datetime) -> None:
    """Publish that a tenant has its first paid plan."""
    outbox.publish(tx, account.tenant.id, SubscriptionCreated(account.tenant.id, account.tenant.plan, at), at=at)


def _context(account: BillingAccount, actor: Actor, action: str, at: datetime, **metadata: object) -> AuditContext:
    return AuditContext(account.tenant.id, actor, action, at, metadata)
