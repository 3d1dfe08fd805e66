"""Wire models of annotations (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from attestlab.annotations.rules import MAX_TEXT_LENGTH
from attestlab.core.filters import NO_CONDITION, Filters
from attestlab.core.shapes import In, Moment, Out
from attestlab.web.paging import PageQuery

AnnotationText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT_LENGTH)]


class AnnotationIn(In, wire_name="annotation_input", source="CONTRACT 8"):
    """What happened, and when."""

    at: Moment
    """When it happened, or began. Format: RFC 3339."""
    until: Moment | None = None
    """When it ended; left out for a moment. Format: RFC 3339, after at."""
    text: AnnotationText
    """What colleagues should know beside a chart. Format: one line, 1-200 characters."""


class AnnotationOut(Out, wire_name="annotation", source="CONTRACT 8"):
    """What happened at a time, for all people of the tenant."""

    id: UUID
    """The annotation. Format: UUID, 36 characters."""
    at: Moment
    """When it happened, or began. Format: RFC 3339."""
    until: Moment | None
    """When it ended. Format: RFC 3339; null for a moment."""
    text: str
    """What happened. Format: one line, 1-200 characters."""
    created_by: str
    """The user, key or agent that wrote it. Format: id."""
    created_at: Moment
    """When they wrote it. Format: RFC 3339."""


class AnnotationsQuery(PageQuery, Filters, wire_name="annotations_query", source="CONTRACT 8"):
    """Filters of the list of annotations."""

    since: Annotated[Moment | None, NO_CONDITION] = Field(default=None, alias="from")
    """Only what happened at or after this moment, or ended after it. Format: RFC 3339 date-time with an offset."""
    until: Annotated[Moment | None, NO_CONDITION] = Field(default=None, alias="to")
    """Only what happened, or began, before this moment. Format: RFC 3339 date-time with an offset."""
