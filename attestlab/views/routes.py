"""HTTP routes of saved views."""

from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.role_rules import PEOPLE_READING_DATA
from attestlab.orgs.rules import Caller
from attestlab.views.rules import compose_url
from attestlab.views.schedules.shapes import ScheduleIn, ScheduleOut
from attestlab.views.schedules.tables import ViewScheduleRecord
from attestlab.views.service import Views
from attestlab.views.shapes import ViewIn, ViewOut, ViewPatchIn, ViewsQuery
from attestlab.views.tables import SavedViewRecord
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.routing.routes import Routes

routes = Routes("views")
_LIST = "saved_views"
_render_schedule = RowRenderer(ScheduleOut, ViewScheduleRecord, recipients="recipient_ids", next_at="due_at")
_render_row = RowRenderer(
    ViewOut,
    SavedViewRecord,
    computed=("schedule",),
    shared="is_shared",
    owner_id="user_id",
    url=lambda row: compose_url(row.page, row.query),
)


def _render_view(row: SavedViewRecord, schedule: ViewScheduleRecord | None = None) -> ViewOut:
    return _render_row(row, schedule=None if schedule is None else _render_schedule(schedule))


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
    schedules = views.schedules.find_of([row.id for row in shown])
    return Page[ViewOut](items=[_render_view(row, schedules.get(row.id)) for row in shown], next_cursor=cursor)


@routes.patch("/v1/views/{id}", scope=PEOPLE_READING_DATA, raises=(Conflict,))
def update_view(id: UUID, body: ViewPatchIn, tx: Transaction, caller: Caller, views: Views) -> ViewOut:
    """Change the name, the query or the sharing of a view of yours.

    A view that another person shares is a 403: save it under a name of yours instead.
    """
    row = views.update(id, body, caller=caller, tx=tx)
    return _render_view(row, views.schedules.find_of([id], tx=tx).get(id))


@routes.delete("/v1/views/{id}", scope=PEOPLE_READING_DATA, status=204)
def delete_view(id: UUID, tx: Transaction, caller: Caller, views: Views) -> None:
    """Delete a view of yours; it leaves the menus of all with whom you shared it.

    Owners and admins also delete what a person shares who has left the tenant.
    """
    views.delete(id, caller=caller, tx=tx)


@routes.put("/v1/views/{id}/schedule", scope=PEOPLE_READING_DATA)
def schedule_view(id: UUID, body: ScheduleIn, tx: Transaction, caller: Caller, views: Views) -> ViewOut:
    """Send a report of a view of yours by mail, every day or every week.

    A report is plain text with what the page shows attached as one HTML file. It shows what each recipient may read,
    and ends with their account. A schedule replaces the one before. Owners and admins also set what is sent of a view
    that a person shares who has left the tenant.
    """
    scheduled = views.schedules.set(id, body, caller=caller, tx=tx)
    return _render_view(scheduled.row, scheduled.schedule)


@routes.delete("/v1/views/{id}/schedule", scope=PEOPLE_READING_DATA, status=204)
def end_view_schedule(id: UUID, tx: Transaction, caller: Caller, views: Views) -> None:
    """Send no more reports of a view of yours by mail; one that is being drawn is dropped."""
    views.schedules.end(id, caller=caller, tx=tx)
