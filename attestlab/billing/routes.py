"""HTTP routes of billing: plans, subscription, add-ons, usage, entitlements and invoices."""

from uuid import UUID

from attestlab.billing import rules
from attestlab.billing.results import (
    ChangePreview,
    Entitlements,
    InvoiceState,
    LimitEffect,
    OfferedAddOn,
    PricedPlan,
    SubscriptionState,
    Usage,
)
from attestlab.billing.rules import Line
from attestlab.billing.service import Billing
from attestlab.billing.shapes import (
    AddOnOut,
    AttachIn,
    DayUseOut,
    DetachedOut,
    DetachIn,
    EffectOut,
    EntitlementsOut,
    FeaturesOut,
    InvoiceLineOut,
    InvoiceOut,
    LimitsOut,
    OfferedAddOnOut,
    OfferedAddOnsOut,
    PlanIn,
    PlanOut,
    PlansOut,
    PreviewIn,
    PreviewOut,
    ResourceUseOut,
    SubscriptionOut,
    UsageOut,
    UsageQuery,
)
from attestlab.billing.tables import SubscribedAddOnRecord
from attestlab.billing.usage import DayUse, ResourceUse
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.plans import Allowance
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request, prefers_representation
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("billing")
_LIST = "invoices"
_render_limits = RowRenderer(LimitsOut, Allowance)
_render_plan = RowRenderer(PlanOut, PricedPlan, limits=lambda row: _render_limits(row.limits))
_render_addon = RowRenderer(AddOnOut, SubscribedAddOnRecord, addon_id="id", status=lambda _: "active")
_render_detached = RowRenderer(DetachedOut, SubscribedAddOnRecord, addon_id="id", status=lambda _: "detached")
_render_offer = RowRenderer(OfferedAddOnOut, OfferedAddOn)
_render_subscription = RowRenderer(
    SubscriptionOut, SubscriptionState, addons=lambda row: [_render_addon(each) for each in row.addons]
)
_render_line = RowRenderer(InvoiceLineOut, Line)
_render_invoice = RowRenderer(InvoiceOut, InvoiceState, lines=lambda row: [_render_line(each) for each in row.lines])
_render_effect = RowRenderer(EffectOut, LimitEffect)
_render_preview = RowRenderer(
    PreviewOut,
    ChangePreview,
    next_invoice=lambda row: _render_invoice(row.next_invoice),
    effects=lambda row: [_render_effect(each) for each in row.effects],
)
_render_use = RowRenderer(ResourceUseOut, ResourceUse)
_render_day = RowRenderer(DayUseOut, DayUse, day=lambda row: row.day.isoformat())
_render_usage = RowRenderer(
    UsageOut,
    Usage,
    period_start=lambda row: row.period.start,
    period_end=lambda row: row.period.end,
    items=lambda row: [_render_use(each) for each in row.items],
    daily=lambda row: [_render_day(each) for each in row.daily],
)
_render_entitlements = RowRenderer(
    EntitlementsOut,
    Entitlements,
    limits=lambda row: _render_limits(row.limits),
    features=lambda row: FeaturesOut(priority_support=row.has_priority_support),
)


@routes.get("/v1/billing/plans", scope=PUBLIC)
def list_plans(billing: Billing) -> PlansOut:
    """List all plans with their limits and their price a month.

    The price of ENTERPRISE is null: the operator agrees it with each tenant.
    """
    return PlansOut(items=[_render_plan(each) for each in billing.list_plans()])


@routes.get("/v1/billing/subscription", scope=Scope.BILLING_READ)
def get_subscription(caller: Caller, billing: Billing) -> SubscriptionOut:
    """Get the tenant's subscription: its plan, its add-ons and what they cost a month.

    `pending_plan` is a smaller plan that follows at the end of the period.
    """
    return _render_subscription(billing.subscription(caller=caller))


@routes.post("/v1/billing/subscription/preview", scope=Scope.BILLING_WRITE, idempotency="none", raises=(Conflict,))
async def preview_subscription(body: PreviewIn, caller: Caller, billing: Billing, executor: Executor) -> PreviewOut:
    """Preview a change of plan or add-ons: what it costs, from when it holds, and which limits it alters.

    Nothing changes. The price of ENTERPRISE is agreed with the operator (409).
    """
    quantities = body.addons.quantities()
    return _render_preview(await executor.run_in_thread(lambda: billing.preview(body.plan, quantities, caller=caller)))


@routes.post("/v1/billing/subscription", scope=Scope.BILLING_WRITE, raises=(Conflict,))
def change_subscription(body: PlanIn, tx: Transaction, caller: Caller, billing: Billing) -> SubscriptionOut:
    """Change the plan: a larger one holds now, a smaller one from the end of the period on.

    The rest of the month is charged for a larger plan. The current plan cancels a pending change. ENTERPRISE is agreed
    with the operator (409). In production a larger plan is bought in Stripe's portal alone (409).
    """
    return _render_subscription(billing.change(body.plan, caller=caller, tx=tx))


@routes.get("/v1/billing/addons", scope=Scope.BILLING_READ)
def list_addons(caller: Caller, billing: Billing) -> OfferedAddOnsOut:
    """List all add-ons with the price of a unit a month, and how many units the tenant has.

    The list always has every add-on.
    """
    return OfferedAddOnsOut(items=[_render_offer(each) for each in billing.list_addons(caller=caller)])


@routes.post(
    "/v1/billing/addons/attach",
    scope=Scope.BILLING_WRITE,
    status=201,
    raises=(Conflict,),
    existing="The add-on was attached already; its quantity is set.",
)
def attach_addon(body: AttachIn, tx: Transaction, caller: Caller, billing: Billing) -> AddOnOut | RawResponse:
    """Attach an add-on, or set its quantity where it is attached (200).

    It raises its limit from the next request on, and is charged for the rest of the month. In production more units
    are bought in Stripe's portal alone (409).
    """
    attached = billing.attach(body.addon_key, body.quantity, caller=caller, tx=tx)
    shown = _render_addon(attached.row)
    return shown if attached.is_new else RawResponse(shown.model_dump_json().encode(), JSON, status=200)


@routes.post("/v1/billing/addons/detach", scope=Scope.BILLING_WRITE, representation=True, raises=(Conflict, NotFound))
def detach_addon(
    request: Request, body: DetachIn, tx: Transaction, caller: Caller, billing: Billing
) -> DetachedOut | None:
    """Detach an add-on with all its units, now; nothing is refunded.

    The response has no body, unless the request has `Prefer: return=representation`. What is over a limit then keeps
    working. An add-on that is not attached is a 404.
    """
    row = billing.detach(body.addon_key, caller=caller, tx=tx)
    return _render_detached(row) if prefers_representation(request) else None


@routes.get("/v1/billing/usage", scope=Scope.BILLING_READ)
def get_usage(query: UsageQuery, caller: Caller, billing: Billing) -> UsageOut:
    """Get what the tenant used in a month, by resource and by day.

    Daily resources show today's use. Of a past month, `items` has the day with the most use.
    """
    period = None if query.period is None else rules.parse_month(query.period)
    return _render_usage(billing.usage(period, caller=caller))


@routes.get("/v1/billing/entitlements", scope=Scope.BILLING_READ)
def get_entitlements(caller: Caller, billing: Billing) -> EntitlementsOut:
    """Get what the tenant may use now: the limits of its plan with add-ons, and its features.

    Null is without a limit.
    """
    return _render_entitlements(billing.entitlements(caller=caller))


@routes.get("/v1/billing/invoices", scope=Scope.BILLING_READ)
def list_invoices(query: PageQuery, caller: Caller, billing: Billing) -> Page[InvoiceOut]:
    """List the tenant's invoices, newest first.

    What costs nothing has no invoice.
    """
    rows = billing.page_invoices(caller=caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1)
    shown, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[InvoiceOut](items=[_render_invoice(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/billing/invoices/preview", scope=Scope.BILLING_READ)
def preview_invoice(caller: Caller, billing: Billing) -> InvoiceOut:
    """Preview the invoice of the next period, if nothing changes until then.

    A draft has neither id nor number.
    """
    return _render_invoice(billing.preview_invoice(caller=caller))


@routes.get("/v1/billing/invoices/{id}", scope=Scope.BILLING_READ)
def get_invoice(id: UUID, caller: Caller, billing: Billing) -> InvoiceOut:
    """Get an invoice of the tenant.

    Another tenant's invoice is a 404, as an unknown one.
    """
    return _render_invoice(billing.get_invoice(id, caller=caller))
