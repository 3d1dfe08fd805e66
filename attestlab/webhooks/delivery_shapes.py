"""Wire models of deliveries, their recovery, and test deliveries (CONTRACT section 10)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.core.text_forms import describe_form
from attestlab.web.paging import PageQuery
from attestlab.webhooks.event_types import TEST
from attestlab.webhooks.rules import EVENT_TYPE, MAX_EVENT_TYPE_LENGTH, MAX_FILTERS, WebhookDeliveryStatus
from attestlab.webhooks.shapes import Filter

_EVENT_TYPE = describe_form(f"^{EVENT_TYPE.pattern}$", "Send a type of events such as attestation.created.")
AnyEventType = Annotated[str, StringConstraints(max_length=MAX_EVENT_TYPE_LENGTH, pattern=_EVENT_TYPE)]


class WebhookAttemptOut(Out):
    """An attempt of a delivery; `http_status` is null if the receiver did not respond."""

    number: int
    at: Moment
    http_status: int | None
    response_time_ms: int
    error: str | None
    response_excerpt: str | None


class WebhookDeliveryOut(Out):
    """A delivery of an event to an endpoint, with its attempts; `payload_hash` is of the body that is sent."""

    id: Uuid
    endpoint_id: Uuid
    event_id: Uuid
    event_type: str
    payload_hash: str
    status: Annotated[str, one_of(WebhookDeliveryStatus)]
    attempt_count: int
    next_attempt_at: Moment | None
    last_error: str | None
    http_status: int | None
    response_time_ms: int | None
    test: bool
    manual: bool
    created_at: Moment
    updated_at: Moment
    delivered_at: Moment | None
    attempts: list[WebhookAttemptOut]


class WebhookDeliveriesQuery(PageQuery, Filters):
    """The query of an endpoint's deliveries."""

    status: Annotated[Literal["pending", "retrying", "delivered", "failed"] | None, Where("status")] = None
    event_type: Annotated[AnyEventType | None, Where("event_type")] = None

    @property
    def passes_over_rows(self) -> bool:
        """Whether the query may read rows that are not in the response; no index serves the filters."""
        return bool(self.given_filters)


class WebhookRecoveryIn(In):
    """Past events to deliver again: those from `since` on, and before `until`, which is now by default."""

    since: Moment
    until: Moment | None = None
    event_types: Annotated[list[Filter], Field(min_length=1, max_length=MAX_FILTERS)] | None = None
    mode: Literal["failed", "missing", "all"] = "failed"
    dry_run: bool = False


class WebhookRecoveryOut(Out):
    """The number of events that matched, and of deliveries that were made; a dry run makes none.

    `too_old` events of the period happened over 30 days ago, so they took no part.
    """

    matched: int
    enqueued: int
    too_old: int
    dry_run: bool


class TestDeliveryIn(In):
    """A test delivery; `payload` becomes the `data` of the event."""

    endpoint_id: Uuid
    event_type: AnyEventType = TEST
    payload: dict[str, JsonValue] | None = None


class TestDeliveryOut(Out):
    """The outcome of a test delivery; `status_code` is 0, and `error` says why, if the receiver did not respond."""

    success: bool
    status_code: int
    response_time_ms: int
    error: str | None
