"""HTTP route that gives out links to the billing portal."""

from attestlab.billing.portal_page.service import BillingPortal, PortalLink
from attestlab.billing.portal_page.shapes import BillingPortalIn, BillingPortalOut
from attestlab.billing.providers.provider import OpenedPortal
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.rate_limit.limiter import owner_of
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("billing")
_render_link = RowRenderer(
    BillingPortalOut,
    PortalLink,
    parts={"opened": OpenedPortal},
    portal_url="url",
    provider=lambda link: link.provider.value,
    embedded="is_embedded",
)


async def _ask_provider(
    request: Request, body: BillingPortalIn, caller: Caller, billing_portal: BillingPortal, executor: Executor
) -> OpenedPortal:
    """Ask the provider for a portal, before the write; an embedded one is asked at once."""
    provider, order = await executor.read(lambda: billing_portal.order(body, caller=caller))
    if provider.is_embedded:
        return provider.open_portal(order)
    return await executor.outbound.run(owner_of(request), provider.open_portal, order)


@routes.post("/v1/billing/portal", scope=Scope.BILLING_WRITE, prepare=_ask_provider, secret=True, raises=(Conflict,))
def create_billing_portal_link(
    body: BillingPortalIn, tx: Transaction, caller: Caller, prepared: OpenedPortal, billing_portal: BillingPortal
) -> BillingPortalOut:
    """Make a link to the billing portal, where plan, add-ons and invoices of the tenant are changed and read.

    The link opens for five minutes. A person who has it acts for the caller, so send it to one person alone.
    """
    return _render_link(billing_portal.open(body, prepared, caller=caller, tx=tx))
