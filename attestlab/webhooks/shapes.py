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

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ENDPOINT_NAME_LENGTH)]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_LENGTH)]
Filter = Annotated[str, StringConstraints(min_length=1, max_length=MAX_EVENT_TYPE_LENGTH + len(WILDCARD))]
EventFilters = Annotated[list[Filter], Field(min_length=1, max_length=MAX_FILTERS)]
EventTypeName = Annotated[str, Field(json_schema_extra={"pattern": f"^{EVENT_TYPE.pattern}$"})]
StatusName = Annotated[str, one_of(EndpointStatus)]


class WebhookEndpointIn(In):
    """An endpoint to create."""

    name: Name
    url: Url
    event_filters: EventFilters


class EndpointChanges(TypedDict, total=False):
    """The changes of an endpoint; a missing field is unchanged."""

    name: str
    url: str
    event_filters: Sequence[str]
    status: EndpointStatus


class WebhookEndpointPatch(In):
    """Changes of an endpoint; omitted fields are unchanged."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    url: Url = Field(default="", json_schema_extra=omit_default)
    event_filters: EventFilters = Field(default=[], json_schema_extra=omit_default)
    status: Literal["active", "disabled"] = Field(default="active", json_schema_extra=omit_default)

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


class RotateSecretIn(In):
    """How long the old secret of an endpoint keeps working; by default it stops at once."""

    overlap_seconds: Annotated[int, Field(ge=0, le=int(MAX_OVERLAP.total_seconds()))] = 0

    @property
    def overlap(self) -> timedelta:
        """The overlap as a duration."""
        return timedelta(seconds=self.overlap_seconds)


class WebhookEndpointOut(Out):
    """An endpoint, without its secret."""

    id: Uuid
    name: str
    url: str
    status: StatusName
    disabled_reason: Annotated[str, one_of(DisabledReason)] | None
    event_filters: list[str]
    created_at: Moment
    updated_at: Moment


class WebhookEndpointMadeOut(WebhookEndpointOut):
    """A new endpoint; only this response contains its secret."""

    secret: SecretText


class SecretRotatedOut(Out):
    """The new secret of an endpoint; only this response contains it."""

    id: Uuid
    secret: SecretText
    rotated_at: Moment
    old_secret_until: Moment | None


class EventTypeOut(Out):
    """A type of events; `schema` (JSON Schema 2020-12) and `example` are of the whole envelope."""

    type: EventTypeName
    category: str
    description: str
    json_schema: dict[str, JsonValue] = Field(serialization_alias="schema")
    example: dict[str, JsonValue]


class EventTypesQuery(In):
    """A filter of the types of events."""

    category: Annotated[str, StringConstraints(min_length=1, max_length=MAX_EVENT_TYPE_LENGTH)] | None = None


class EventTypesOut(Out):
    """Types of events."""

    items: list[EventTypeOut]


class EventLogQuery(In):
    """The number of the last event that the client has, and the number of events to answer."""

    after: Annotated[int, Field(ge=0, le=2**53 - 1)] = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 50


class LoggedEventOut(Out):
    """An event as endpoints receive it, with its number within the tenant."""

    sequence: int
    id: Uuid
    type: EventTypeName
    created_at: Moment
    data: dict[str, JsonValue]


class EventLogOut(Out):
    """Events in ascending order; `next_after` continues after them, also when there is none yet.

    `too_old` events follow `after` as well; they happened over 30 days ago, and are no longer listed.
    """

    items: list[LoggedEventOut]
    next_after: int
    too_old: int
