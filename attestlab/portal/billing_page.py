"""The pages of the embedded billing portal: plan, add-ons, invoices, and the question before each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from attestlab.billing.portal_page.service import PortalVisit
from attestlab.billing.providers.provider import PortalFlow
from attestlab.billing.results import InvoiceState, OfferedAddOn, PricedPlan, SubscriptionState
from attestlab.billing.rules import format_money
from attestlab.billing.service import Billing
from attestlab.orgs.plans import public_limits
from attestlab.orgs.rules import AddOn, Caller, Plan
from attestlab.portal.layout import NOT_INDEXED, Html, render_page

_PAGE_ROOT, _CHANGE_ROOT = "../", "../../"
_FLOWS: Final = {
    PortalFlow.PLAN.value: "Plan",
    PortalFlow.ADDONS.value: "Add-ons",
    PortalFlow.INVOICES.value: "Invoices",
}
_LIMITS: Final = ("attestations_per_day", "verifications_per_day", "issuers", "agents", "webhook_endpoints")
_MAX_INVOICES = 50


class PortalChange(Protocol):
    """A change that a visitor asks for: another plan, or a quantity of an add-on, which 0 detaches."""

    @property
    def plan(self) -> Plan | None:
        """The plan, unless the change is that of an add-on."""
        ...

    @property
    def addon_key(self) -> AddOn | None:
        """The add-on, unless the change is that of the plan."""
        ...

    @property
    def quantity(self) -> int:
        """The units of the add-on."""
        ...


class PlanOffer(NamedTuple):
    """A plan as the page offers it; without a price, the operator agrees it with each tenant."""

    name: str
    amount_minor: int | None
    limits: Sequence[str]


class PortalContent(NamedTuple):
    """What the pages of the portal show of a tenant."""

    subscription: SubscriptionState
    plans: Sequence[PlanOffer]
    addons: Sequence[OfferedAddOn]
    invoices: Sequence[InvoiceState]


def read_content(billing: Billing, caller: Caller) -> PortalContent:
    """Read what the page of a tenant shows."""
    return PortalContent(
        billing.subscription(caller=caller),
        [_offer(priced) for priced in billing.list_plans()],
        billing.list_addons(caller=caller),
        billing.page_invoices(caller=caller, limit=_MAX_INVOICES),
    )


def portal_page(visit: PortalVisit, content: PortalContent, flow: PortalFlow) -> Html:
    """Render the page of a flow; it shows plans, add-ons or invoices."""
    return _render(
        "billing_portal.html",
        visit,
        root=_PAGE_ROOT,
        flow=flow.value,
        flows=_FLOWS,
        switch=AddOn.PRIORITY_SUPPORT.value,
        **content._asdict(),
    )


def change_page(visit: PortalVisit, change: PortalChange, billing: Billing) -> Html:
    """Render what a change costs, when it takes effect and what would be over a limit, with the form that makes it.

    Raises:
        Conflict: the change needs the operator.
    """
    addons = None if change.addon_key is None else {change.addon_key: change.quantity}
    preview = billing.preview(change.plan, addons, caller=visit.caller)
    names = {addon.addon_key: addon.name for addon in billing.list_addons(caller=visit.caller)}
    subscription = billing.subscription(caller=visit.caller)
    flow = PortalFlow.PLAN if change.addon_key is None else PortalFlow.ADDONS
    return _render(
        "billing_change.html",
        visit,
        root=_CHANGE_ROOT,
        change=change,
        question=_ask(change, subscription.plan, names),
        flow=flow.value,
        preview=preview,
        is_later=preview.effective_at >= subscription.current_period_end,
        effects=[effect for effect in preview.effects if effect.limit_before != effect.limit_after],
        over=[effect for effect in preview.effects if effect.over],
        currency=subscription.currency,
    )


def closed_page(root: str = _CHANGE_ROOT) -> Html:
    """Render the page of a link or a session that does not count any more; it does not distinguish why."""
    text = (
        "A link opens this portal for five minutes, and a browser that opened it keeps it for half an hour. Ask for a"
        " new link where you got this one. Nothing was changed."
    )
    return _render_problem("This billing portal has closed", text, status=410, root=root)


def refused_page(message: str, *, status: int) -> Html:
    """Render the page of a change that was not made."""
    return _render_problem("This change was not made", message, status=status, root=_CHANGE_ROOT)


def _ask(change: PortalChange, current: Plan, names: Mapping[AddOn, str]) -> str:
    """Return the question of a change, which is the heading of its page."""
    if change.addon_key is None:
        now = current.capitalize()
        return f"Keep {now}?" if change.plan is current else f"Change from {now} to {str(change.plan).capitalize()}?"
    name = names[change.addon_key]
    if not change.quantity:
        return f"Remove {name}?"
    if change.addon_key is AddOn.PRIORITY_SUPPORT:
        return f"Add {name}?"
    return f"{name}: {change.quantity:,} unit{'s' * (change.quantity > 1)}?"


def _offer(priced: PricedPlan) -> PlanOffer:
    limits = public_limits(priced.limits)
    return PlanOffer(priced.plan.value, priced.amount_minor, [_describe_limit(name, limits[name]) for name in _LIMITS])


def _describe_limit(name: str, limit: int | None) -> str:
    """Describe a limit of a plan for people.

    >>> [_describe_limit(*each) for each in (("agents", 1), ("issuers", None), ("attestations_per_day", 10_000))]
    ['1 agent', 'unlimited issuers', '10,000 attestations a day']
    """
    words = name.replace("_per_", " a ").replace("_", " ")
    if limit is None:
        return f"unlimited {words}"
    return f"{limit:,} {words.removesuffix('s') if limit == 1 else words}"


def _render(template: str, visit: PortalVisit, *, root: str, **facts: object) -> Html:
    html = render_page(
        template,
        status=200,
        root=root,
        inline_css="",
        tenant=visit.tenant_name,
        return_url=visit.link.return_url,
        return_host=urlsplit(visit.link.return_url).netloc,
        form_token=visit.form_token,
        money=format_money,
        **facts,
    )
    return _keep_private(html)


def _render_problem(headline: str, text: str, *, status: int, root: str) -> Html:
    return _keep_private(render_page("billing_problem.html", status=status, root=root, headline=headline, text=text))


def _keep_private(html: Html) -> Html:
    return html._replace(headers={**html.headers, **NOT_INDEXED})
