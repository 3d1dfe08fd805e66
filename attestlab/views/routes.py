"""HTTP routes of saved views."""

from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.role_rules import PEOPLE_READING_DATA
from attestlab.orgs.rules import Caller
from attestlab.views.rules import compose_url
from attestlab.views.service import Views
from attestlab.views.shapes import ViewIn, ViewOut, ViewPatchIn, ViewsQuery
from attestlab.views.tables import SavedViewRecord
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.routing.routes import Routes

routes = Routes("views")
_LIST = "saved_views"
_render_view = RowRenderer(
    ViewOut,
    SavedViewRecord,
    shared="is_shared",
    owner_id="user_id",
    url=lambda row: compose_url(row.page, row.query),
)


@routes.post("/v1/views", scope=PEOPLE_READING_DATA, status=201, raises=(Conflict,))
def save_view(body: ViewIn, tx: Transaction, caller: Caller, views: Views) -> ViewOut:
    """Save the filters of a page of the dashboards by a name, for yourself or for the tenant.

    A person has at most 200 views, and each name once for a page.
    """
    return _render_view(views.save(body, caller=caller, tx=tx))


@routes.get("/v1/views", scope=PEOPLE_READING_DATA)
def list_views(query: ViewsQuery, caller: Caller, views: Views) -> Page[ViewOut]:
    """List your views and those that others in the tenant share, newest first.

    A view that is not shared is yours alone.
    """
    before = decode_id(_LIST, query.cursor)
    found = views.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[ViewOut](items=[_render_view(row) for row in shown], next_cursor=cursor)


@routes.patch("/v1/views/{id}", scope=PEOPLE_READING_DATA, raises=(Conflict,))
def update_view(id: UUID, body: ViewPatchIn, tx: Transaction, caller: Caller, views: Views) -> ViewOut:
    """Change the name, the query or the sharing of a view of yours.

    A view that another person shares is a 403: save it under a name of yours instead.
    """
    return _render_view(views.update(id, body, caller=caller, tx=tx))


@routes.delete("/v1/views/{id}", scope=PEOPLE_READING_DATA, status=204)
def delete_view(id: UUID, tx: Transaction, caller: Caller, views: Views) -> None:
    """Delete a view of yours; it leaves the menus of all with whom you shared it.

    Owners and admins also delete what a person shares who has left the tenant.
    """
    views.delete(id, caller=caller, tx=tx)
