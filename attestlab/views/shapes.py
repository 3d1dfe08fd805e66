"""Wire models of saved views (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out, omit_default
from attestlab.views.rules import MAX_NAME_LENGTH, MAX_QUERY_LENGTH
from attestlab.views.schedules.shapes import ScheduleOut
from attestlab.web.paging import PageQuery

PageName = Literal["risk", "policy", "log", "issuers", "agents", "usage", "access"]
ViewName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME_LENGTH)]
ViewQuery = Annotated[str, Field(max_length=MAX_QUERY_LENGTH)]


class ViewIn(In, wire_name="saved_view_input", source="CONTRACT 8"):
    """The filters of a page, to be saved by a name."""

    name: ViewName
    """What you call it. Format: one line, 1-100 characters."""
    page: PageName
    """The page of the dashboards. Format: risk, policy, log, issuers, agents, usage or access."""
    query: ViewQuery
    """What stands after the ? of the page's address. Format: percent-encoded, at most 4096 characters."""
    shared: bool = False
    """Whether everyone in the tenant has it in the menu. Format: true or false, by default false."""


class ViewPatchIn(In, wire_name="saved_view_patch", source="CONTRACT 8"):
    """Changes of a view; a field that is left out stays as it is."""

    name: ViewName = Field(default="", json_schema_extra=omit_default)
    """What you call it. Format: one line, 1-100 characters."""
    query: ViewQuery = Field(default="", json_schema_extra=omit_default)
    """What stands after the ? of the page's address. Format: percent-encoded, at most 4096 characters."""
    shared: bool = Field(default=False, json_schema_extra=omit_default)
    """Whether everyone in the tenant has it in the menu. Format: true or false."""


class ViewOut(Out, wire_name="saved_view", source="CONTRACT 8"):
    """The filters of a page by a name."""

    id: UUID
    """The view. Format: UUID, 36 characters."""
    name: str
    """What its owner calls it. Format: one line, 1-100 characters."""
    page: PageName
    """The page of the dashboards. Format: risk, policy, log, issuers, agents, usage or access."""
    query: str
    """What stands after the ? of the page's address. Format: percent-encoded, at most 4096 characters."""
    shared: bool
    """Whether everyone in the tenant has it in the menu. Format: true or false."""
    owner_id: UUID
    """The person who saved it. Format: UUID, 36 characters."""
    url: str
    """Where the dashboards show it, below the address of the service. Format: a path with its query."""
    created_at: Moment
    """When it was saved. Format: RFC 3339."""
    updated_at: Moment
    """When it was last changed. Format: RFC 3339."""
    schedule: ScheduleOut | None
    """When a report of it is sent by mail, and to whom. Format: a view_schedule, or null if none is sent."""


class ViewsQuery(PageQuery, Filters, wire_name="saved_views_query", source="CONTRACT 8"):
    """Filters of the list of views."""

    page: Annotated[PageName | None, Where("page")] = None
    """Only views of this page. Format: risk, policy, log, issuers, agents, usage or access."""
