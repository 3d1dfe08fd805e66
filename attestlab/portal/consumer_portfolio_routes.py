"""HTTP routes of the public page of a consumer. It needs no script."""

from functools import partial
from urllib.parse import urlencode

from pydantic import ConfigDict

from attestlab.core.errors import NotFound
from attestlab.core.shapes import In
from attestlab.delivery.share_links import Links
from attestlab.portal.page_forms import to_response
from attestlab.protections.service import Protections
from attestlab.web.executor import Executor
from attestlab.web.paging import decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_PAGE_SIZE = 50
_LIST = "portfolio page"


class PortfolioPageQuery(In, source="CONTRACT 11.3"):
    """The query of the page; parameters that other programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    cursor: str | None = None
    """Where older entries begin, from the page before. Format: opaque."""


@routes.get(
    "/u/{username}",
    scope=PUBLIC,
    cache_control="public, max-age=60",
    page=True,
    produces={"text/html": str},
    raises=(NotFound,),
)
async def get_portfolio_page(
    request: Request,
    username: str,
    query: PortfolioPageQuery,
    protections: Protections,
    links: Links,
    executor: Executor,
) -> RawResponse:
    """Get the public page of a consumer: what they protect and show to everyone, newest first.

    An unknown username and a private page are the same 404. Programs use `GET /v1/consumer/portfolio/{username}`.
    """
    from attestlab.portal import protection_pages  # imports the template engine, which must not delay the start

    before = decode_id(_LIST, query.cursor)
    read = partial(protections.get_portfolio, username, before=before, limit=_PAGE_SIZE + 1)
    portfolio = await executor.read_shared(read)
    shown, cursor = split_page(
        portfolio.protections, limit=_PAGE_SIZE, kind=_LIST, position=lambda found: [str(found.row.id)]
    )
    older = None if cursor is None else urlencode({"cursor": cursor})
    page = protection_pages.portfolio_page(
        portfolio,
        shown=len(shown),
        at=portfolio.last_expiry(request.now),
        next_query=older,
        portal_url=links.portal_url,
    )
    return to_response(page)
