"""Wire models of raw events and mappings (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.normalization.mapping import EVENT_TYPE_PATTERN, MAX_EVENT_TYPE_LENGTH, MAX_ITEMS
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Identifier
from attestlab.risk.signals.shapes import SignalOut
from attestlab.web.paging import PageQuery

RawEventType = Annotated[str, Field(pattern=EVENT_TYPE_PATTERN, max_length=MAX_EVENT_TYPE_LENGTH)]


class EventIn(In, wire_name="risk_event_input", source="CONTRACT 8"):
    """A raw event to record and normalize."""

    event_type: RawEventType
    """The type of the event. Format: lowercase words with dots, at most 128 characters."""
    entity_type: EntityTypes
    """The type of the entity that it is about. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: EntityId
    """The id of that entity. Format: 1-256 characters."""
    data: dict[str, object] | None = None
    """The event's own data. Format: JSON."""
    occurred_at: Moment | None = None
    """When it happened; by default now. Format: RFC 3339 date-time with an offset, not in the future."""


class NormalizedOut(Out, wire_name="risk_normalized_event", source="CONTRACT 8"):
    """The signal that a raw event became; `normalized` is false if the mapping does not know its type."""

    normalized: bool
    """Whether the mapping knows the event's type. Format: true or false."""
    signal: SignalOut
    """The signal that the event became."""


class EventOut(Out, wire_name="risk_event", source="CONTRACT 8"):
    """A raw event as it was sent."""

    id: UUID
    """The raw event. Format: UUID, 36 characters."""
    tenant_id: UUID
    """The tenant. Format: UUID, 36 characters."""
    event_type: str
    """What happened. Format: a dotted name, at most 128 characters."""
    entity_type: EntityTypeName
    """What it happened to. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: str
    """The id of that entity. Format: at most 256 characters."""
    data: dict[str, object]
    """What the sender added. Format: JSON."""
    occurred_at: Moment
    """When it happened. Format: RFC 3339."""
    created_at: Moment
    """When it was recorded. Format: RFC 3339."""


class EventsQuery(PageQuery, Filters, wire_name="risk_events_query", source="CONTRACT 8"):
    """Filters of the list of raw events."""

    event_type: Annotated[RawEventType | None, Where("event_type")] = None
    """Only events of this type. Format: lowercase words with dots."""


class MappingItemIn(In, wire_name="risk_mapping_item_input", source="CONTRACT 8"):
    """The signal that events of one type become."""

    event_type: RawEventType
    """The type of the event. Format: lowercase words with dots."""
    signal_type: Identifier
    """The type of the signal that it becomes. Format: 1-64 of a-z 0-9 _."""
    score: Annotated[float, Field(ge=0, le=100)]
    """The score of that signal. Format: 0-100."""


class MappingIn(In, wire_name="risk_mapping_input", source="CONTRACT 8"):
    """The items of the mapping's next version; event types without an item become `behavior` with score 10."""

    items: Annotated[list[MappingItemIn], Field(max_length=MAX_ITEMS)]
    """All items of the next version."""


class MappingItemOut(Out, wire_name="risk_mapping_item", source="CONTRACT 8"):
    """The signal that events of one type become."""

    event_type: str
    """The type of the event. Format: lowercase words with dots."""
    signal_type: str
    """The type of the signal that it becomes. Format: 1-64 of a-z 0-9 _."""
    score: float
    """The score of that signal. Format: 0-100."""


class MappingOut(Out, wire_name="risk_mapping", source="CONTRACT 8"):
    """A version of the tenant's mapping."""

    version: int
    """The version of the mapping. Format: from 1; 1 is the default."""
    items: list[MappingItemOut]
    """The items; any other event becomes behavior with score 10."""


class NormalizeIn(In, wire_name="risk_normalization_input", source="CONTRACT 8"):
    """The raw events to normalize again, by the time of their occurrence; `to` is exclusive."""

    since: Moment | None = Field(default=None, alias="from")
    """Only events that occurred at or after this moment. Format: RFC 3339 date-time with an offset."""
    until: Moment | None = Field(default=None, alias="to")
    """Only events that occurred before this moment. Format: RFC 3339 date-time with an offset."""


class NormalizeOut(Out, wire_name="risk_normalization", source="CONTRACT 8"):
    """How many raw events were normalized again, and how many became another signal."""

    events: int
    """The events that were normalized again. Format: events."""
    changed: int
    """Those that became another signal. Format: events."""
