"""Wire models of raw events and mappings (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.normalization.mapping import EVENT_TYPE_PATTERN, MAX_EVENT_TYPE_LENGTH, MAX_ITEMS
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Name
from attestlab.risk.signals.shapes import SignalOut
from attestlab.web.paging import PageQuery

RawEventType = Annotated[str, Field(pattern=EVENT_TYPE_PATTERN, max_length=MAX_EVENT_TYPE_LENGTH)]


class EventIn(In):
    """A raw event to record and normalize."""

    event_type: RawEventType
    entity_type: EntityTypes
    entity_id: EntityId
    data: dict[str, object] | None = None
    occurred_at: Moment | None = None


class NormalizedOut(Out):
    """The signal that a raw event became; `normalized` is false if the mapping does not know its type."""

    normalized: bool
    signal: SignalOut


class EventOut(Out):
    """A raw event as it was sent."""

    id: UUID
    tenant_id: UUID
    event_type: str
    entity_type: EntityTypeName
    entity_id: str
    data: dict[str, object]
    occurred_at: Moment
    created_at: Moment


class EventsQuery(PageQuery, Filters):
    """Filters of the list of raw events."""

    event_type: Annotated[RawEventType | None, Where("event_type")] = None


class MappingItemIn(In):
    """The signal that events of one type become."""

    event_type: RawEventType
    signal_type: Name
    score: Annotated[float, Field(ge=0, le=100)]


class MappingIn(In):
    """The items of the mapping's next version; event types without an item become `behavior` with score 10."""

    items: Annotated[list[MappingItemIn], Field(max_length=MAX_ITEMS)]


class MappingItemOut(Out):
    """The signal that events of one type become."""

    event_type: str
    signal_type: str
    score: float


class MappingOut(Out):
    """A version of the tenant's mapping."""

    version: int
    items: list[MappingItemOut]


class NormalizeIn(In):
    """The raw events to normalize again, by the time of their occurrence; `to` is exclusive."""

    since: Moment | None = Field(default=None, alias="from")
    until: Moment | None = Field(default=None, alias="to")


class NormalizeOut(Out):
    """How many raw events were normalized again, and how many became another signal."""

    events: int
    changed: int
