"""Wire models of webhook endpoints, event types and events (SPEC, Webhook endpoints; CONTRACT section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal, TypedDict

from pydantic import Field, JsonValue, StringConstraints

from attestlab.core.shapes import In, Moment, Out, SecretText, Uuid, omit_default, one_of
from attestlab.webhooks.addresses import MAX_URL_LENGTH
from attestlab.webhooks.rules import (
    EVENT_TYPE,
    MAX_ENDPOINT_NAME_LENGTH,
    MAX_EVENT_TYPE_LENGTH,
    MAX_FILTERS,
    MAX_OVERLAP,
    WILDCARD,
    DisabledReason,
    EndpointStatus,
)

EndpointName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ENDPOINT_NAME_LENGTH)
]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_LENGTH)]
Filter = Annotated[str, StringConstraints(min_length=1, max_length=MAX_EVENT_TYPE_LENGTH + len(WILDCARD))]
EventFilters = Annotated[list[Filter], Field(min_length=1, max_length=MAX_FILTERS)]
EventTypeName = Annotated[str, Field(json_schema_extra={"pattern": f"^{EVENT_TYPE.pattern}$"})]
StatusName = Annotated[str, one_of(EndpointStatus)]


class WebhookEndpointIn(In, source="CONTRACT 10"):
    """An endpoint to create."""

    name: EndpointName
    """Its name, by which people recognise it. Format: text, 1-100 characters."""
    url: Url
    """Where its events go. Format: https URL of a public host, at most 2048 characters."""
    event_filters: EventFilters
    """The events that it receives. Format: 1-50 event types or category.*."""


class EndpointChanges(TypedDict, total=False):
    """The changes of an endpoint; a missing field is unchanged."""

    name: str
    url: str
    event_filters: Sequence[str]
    status: EndpointStatus


class WebhookEndpointPatch(In, source="CONTRACT 10"):
    """Changes of an endpoint; omitted fields are unchanged."""

    name: EndpointName = Field(default="", json_schema_extra=omit_default)
    """Its new name. Format: text, 1-100 characters."""
    url: Url = Field(default="", json_schema_extra=omit_default)
    """Its new URL. Format: https URL of a public host, at most 2048 characters."""
    event_filters: EventFilters = Field(default=[], json_schema_extra=omit_default)
    """The events that it receives from now on. Format: 1-50 event types or category.*."""
    status: Literal["active", "disabled"] = Field(default="active", json_schema_extra=omit_default)
    """Active also forgets its failures. Format: active or disabled."""

    def changes(self) -> EndpointChanges:
        """Return the fields that were sent."""
        changes: EndpointChanges = {}
        if "name" in self.model_fields_set:
            changes["name"] = self.name
        if "url" in self.model_fields_set:
            changes["url"] = self.url
        if "event_filters" in self.model_fields_set:
            changes["event_filters"] = self.event_filters
        if "status" in self.model_fields_set:
            changes["status"] = EndpointStatus(self.status)
        return changes


class RotateSecretIn(In, wire_name="webhook_rotation_input", source="CONTRACT 10"):
    """How long the old secret of an endpoint keeps working; by default it stops at once."""

    overlap_seconds: Annotated[int, Field(ge=0, le=int(MAX_OVERLAP.total_seconds()))] = 0
    """How long the old secret signs too; 0: it stops at once. Format: 0-86400, by default 0."""

    @property
    def overlap(self) -> timedelta:
        """The overlap as a duration."""
        return timedelta(seconds=self.overlap_seconds)


class WebhookEndpointOut(Out, source="CONTRACT 10"):
    """An endpoint, without its secret."""

    id: Uuid
    """The endpoint. Format: UUID, 36 characters."""
    name: str
    """Its name, given by its owner. Format: text, 1-100 characters."""
    url: str
    """Where its events go. Format: https URL."""
    status: StatusName
    """A disabled endpoint receives nothing but tests. Format: active or disabled."""
    disabled_reason: Annotated[str, one_of(DisabledReason)] | None
    """Why it is disabled: it answered 410, failed for five days, or the tenant asked for it; null if it is active.
    Format: gone, failing or requested.
    """
    event_filters: list[str]
    """The events that it receives. Format: event types or category.*."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment
    """When it was changed last. Format: RFC 3339 date-time, UTC, milliseconds."""


class WebhookEndpointMadeOut(WebhookEndpointOut, source="CONTRACT 10"):
    """A new endpoint; only this response contains its secret."""

    secret: SecretText
    """Its secret; only this response contains it. Format: whsec_ and 32 bytes in standard base64."""


class SecretRotatedOut(Out, wire_name="webhook_rotation", source="CONTRACT 10"):
    """The new secret of an endpoint; only this response contains it."""

    id: Uuid
    """The endpoint. Format: UUID, 36 characters."""
    secret: SecretText
    """Its new secret; only this response contains it. Format: whsec_ and 32 bytes in standard base64."""
    rotated_at: Moment
    """When it was rotated. Format: RFC 3339 date-time, UTC, milliseconds."""
    old_secret_until: Moment | None
    """Until when the old secret signs too; null if it stopped at once. Format: RFC 3339 date-time, UTC, milliseconds.
    """


class EventTypeOut(Out, source="CONTRACT 10"):
    """A type of events; `schema` (JSON Schema 2020-12) and `example` are of the whole envelope."""

    type: EventTypeName
    """The name of the type. Format: lowercase words with dots."""
    category: str
    """Its category, which the filter category.* names. Format: the part of the type before its first dot."""
    description: str
    """What happened. Format: text."""
    json_schema: dict[str, JsonValue] = Field(serialization_alias="schema")
    """What an event of this type is, with its envelope. Format: JSON Schema 2020-12."""
    example: dict[str, JsonValue]
    """An event of this type, with its envelope. Format: JSON."""


class EventTypesQuery(In, source="CONTRACT 10"):
    """A filter of the types of events."""

    category: Annotated[str, StringConstraints(min_length=1, max_length=MAX_EVENT_TYPE_LENGTH)] | None = None
    """Only types of this category. Format: the part of a type before its first dot."""


class EventTypesOut(Out, wire_name="event_type_list", source="CONTRACT 10"):
    """Types of events."""

    items: list[EventTypeOut]
    """The types of events. Format: the types of SPEC first."""


class EventLogQuery(In, source="CONTRACT 10"):
    """The number of the last event that the client has, and the number of events to answer."""

    after: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    """Only events with a greater number; next_after of the page before. Format: 0 or more, by default 0."""
    limit: Annotated[int, Field(ge=1, le=100)] = 50
    """The number of events. Format: 1-100, by default 50."""


class LoggedEventOut(Out, source="CONTRACT 10"):
    """An event as endpoints receive it, with its number within the tenant."""

    sequence: int
    """The number of the event within the tenant, without gaps. Format: from 1."""
    id: Uuid
    """The event. Format: UUID, 36 characters."""
    type: EventTypeName
    """Its type. Format: lowercase words with dots."""
    created_at: Moment
    """When it happened. Format: RFC 3339 date-time, UTC, milliseconds."""
    data: dict[str, JsonValue]
    """Ids and key facts, as the schema of the type describes them. Format: JSON, less than 20 kB."""


class EventLogOut(Out, source="CONTRACT 10"):
    """Events in ascending order; `next_after` continues after them, also when there is none yet.

    `too_old` events follow `after` as well; they happened over 30 days ago, and are no longer listed.
    """

    items: list[LoggedEventOut]
    """The events. Format: in ascending order."""
    next_after: int
    """The number to continue after, now or later. Format: 0 or more."""
    too_old: int
    """The number of events after `after` that happened over 30 days ago and are no longer listed. Format: 0 or more.
    Source: docs/webhooks.md.
    """
