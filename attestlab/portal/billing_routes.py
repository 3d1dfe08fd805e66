"""HTTP routes of the embedded billing portal. Its pages need no script, and only their form changes anything."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from attestlab.billing.portal_page.rules import SESSION_TTL
from attestlab.billing.portal_page.service import BillingPortal, PortalVisit
from attestlab.billing.providers.embedded import PAGE_PATH
from attestlab.billing.providers.provider import PortalFlow
from attestlab.billing.rules import MAX_QUANTITY
from attestlab.billing.service import Billing
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, Gone, NotFound, PermissionDenied
from attestlab.core.shapes import In
from attestlab.orgs.rules import AddOn, Caller, Plan
from attestlab.portal.page_forms import to_response
from attestlab.web.cookies import format_cookie, read_cookie
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import HTML, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

if TYPE_CHECKING:
    pass

routes = Routes("billing")
COOKIE = "attestlab_billing"
_CHANGE_PATH = f"{PAGE_PATH}/change"
_HTML_BODY = {"text/html": str}
_FORM_LIMIT_BYTES = 4 * 1024


def _read_units(value: object) -> object:
    """Read a number as a form sends it: as a text."""
    return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,4}", value) else value


class PortalQuery(In, source="CONTRACT 11.6"):
    """What the page of the portal shows; parameters that mail programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    token: str | None = Field(default=None, max_length=256, repr=False)
    """The token of a link. Format: 43 base64url characters; left out once the browser has the session's cookie."""
    flow: PortalFlow | None = None
    """What to show; left out, it is what the link begins with. Format: plan, addons or invoices."""


class PortalChangeQuery(In, source="CONTRACT 11.6"):
    """A change of the subscription: another plan, or a quantity of an add-on."""

    plan: Plan | None = None
    """The plan that is asked for. Format: a plan; left out if the change is that of an add-on."""
    addon_key: AddOn | None = None
    """The add-on whose quantity changes. Format: a key of an add-on; left out if the change is that of the plan."""
    quantity: Annotated[int, BeforeValidator(_read_units)] = Field(default=1, ge=0, le=MAX_QUANTITY)
    """How many units of the add-on. Format: 0-1000; 0 detaches it."""

    @model_validator(mode="after")
    def _require_one_change(self) -> "PortalChangeQuery":
        if (self.plan is None) == (self.addon_key is None):
            raise ValueError("Name a plan or an add-on.")
        return self


class PortalChangeForm(PortalChangeQuery, source="CONTRACT 11.6"):
    """What the form of a change sends."""

    form_token: str = Field(default="", max_length=64, repr=False)
    """The token of the page that shows the form. Format: 43 base64url characters."""


@routes.get(
    PAGE_PATH,
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    secret=True,
    produces=_HTML_BODY,
    headers=("Set-Cookie",),
    raises=(Gone,),
)
async def get_billing_page(
    request: Request, query: PortalQuery, billing_portal: BillingPortal, billing: Billing, executor: Executor
) -> RawResponse:
    """Get the page of the embedded billing portal: plans, add-ons or invoices of one tenant.

    A link opens it for five minutes, and sets a cookie with which the browser reaches it for half an hour. Reading it
    changes nothing. A link or a cookie that does not count any more has one page, with status 410.
    """
    from attestlab.portal import billing_page  # imports the template engine, which must not delay the start

    try:
        visit = await executor.read(_admit, request, query.token, billing_portal)
    except Gone:
        return to_response(billing_page.closed_page(root="../"))
    content = await executor.read(billing_page.read_content, billing, visit.caller)
    if query.token is not None:
        _keep_session(request, visit, billing_portal)
    flow = query.flow or PortalFlow(visit.link.flow or PortalFlow.PLAN)
    return to_response(billing_page.portal_page(visit, content, flow))


@routes.get(
    _CHANGE_PATH, scope=PUBLIC, cache_control="no-store", page=True, produces=_HTML_BODY, raises=(Conflict, Gone)
)
async def get_billing_change_page(
    request: Request, query: PortalChangeQuery, billing_portal: BillingPortal, billing: Billing, executor: Executor
) -> RawResponse:
    """Get the page of a change: what it costs, when it takes effect, and what would be over its limit.

    Reading it changes nothing; its form makes the change.
    """
    from attestlab.portal import billing_page

    try:
        visit = await executor.read(_admit, request, None, billing_portal)
        return to_response(await executor.read(billing_page.change_page, visit, query, billing))
    except Gone:
        return to_response(billing_page.closed_page())
    except Conflict as error:
        return to_response(billing_page.refused_page(error.message, status=409))


@routes.post(
    _CHANGE_PATH,
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    secret=True,
    web_form=True,
    idempotency="none",
    body_limit=_FORM_LIMIT_BYTES,
    status=303,
    headers=("Location",),
    produces=_HTML_BODY,
    raises=(Conflict, Gone, PermissionDenied),
)
async def send_billing_change(
    request: Request, body: PortalChangeForm, billing_portal: BillingPortal, billing: Billing, executor: Executor
) -> RawResponse:
    """Change the plan or an add-on with the form of the page that said what it costs.

    A form without the token of that page gets 403, and changes nothing.
    """
    from attestlab.portal import billing_page

    try:
        visit = await executor.read(_admit, request, None, billing_portal)
        visit.require_form(body.form_token)
        await executor.write(lambda tx: _make_change(body, billing, visit.caller, tx))
    except Gone:
        return to_response(billing_page.closed_page())
    except PermissionDenied as error:
        return to_response(billing_page.refused_page(error.message, status=403))
    except Conflict as error:
        return to_response(billing_page.refused_page(error.message, status=409))
    flow = PortalFlow.PLAN if body.addon_key is None else PortalFlow.ADDONS
    return RawResponse(b"", HTML, {"Location": f"{PAGE_PATH}?flow={flow}"})


def _admit(request: Request, token: str | None, billing_portal: BillingPortal) -> PortalVisit:
    if token is not None:
        return billing_portal.enter(token)
    return billing_portal.resume(read_cookie(request, COOKIE))


def _keep_session(request: Request, visit: PortalVisit, billing_portal: BillingPortal) -> None:
    request.respond_headers["Set-Cookie"] = format_cookie(
        request,
        COOKIE,
        visit.cookie,
        path=PAGE_PATH,
        max_age_s=int(SESSION_TTL.total_seconds()),
        is_secure=billing_portal.has_https,
    )


def _make_change(body: PortalChangeForm, billing: Billing, caller: Caller, tx: Transaction) -> None:
    """Make the change; an add-on that is detached already stays so."""
    if body.plan is not None:
        billing.change(body.plan, caller=caller, tx=tx)
    elif body.addon_key is not None and body.quantity:
        billing.attach(body.addon_key, body.quantity, caller=caller, tx=tx)
    elif body.addon_key is not None:
        with suppress(NotFound):
            billing.detach(body.addon_key, caller=caller, tx=tx)
