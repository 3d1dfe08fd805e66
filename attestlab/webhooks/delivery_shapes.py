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


class WebhookAttemptOut(Out, source="CONTRACT 10"):
    """An attempt of a delivery; `http_status` is null if the receiver did not respond."""

    number: int
    """The number of the attempt within its delivery. Format: from 1."""
    at: Moment
    """When it began. Format: RFC 3339 date-time, UTC, milliseconds."""
    http_status: int | None
    """The status of the response; null without one. Format: 100-599."""
    response_time_ms: int
    """How long it took. Format: milliseconds."""
    error: str | None
    """Why it failed; null if the receiver accepted the event. Format: text, at most 400 characters."""
    response_excerpt: str | None
    """The beginning of the response, without control characters; null if it was empty.
    Format: text, at most 1024 bytes.
    """


class WebhookDeliveryOut(Out, source="CONTRACT 10"):
    """A delivery of an event to an endpoint, with its attempts; `payload_hash` is of the body that is sent."""

    id: Uuid
    """The delivery. Format: UUID, 36 characters."""
    endpoint_id: Uuid
    """The endpoint that receives it. Format: UUID, 36 characters."""
    event_id: Uuid
    """The event; a delivery that was resent has the same one. Format: UUID, 36 characters."""
    event_type: str
    """The type of the event. Format: lowercase words with dots."""
    payload_hash: str
    """The SHA-256 of the body that is sent. Format: sha256: and 64 hex digits."""
    status: Annotated[str, one_of(WebhookDeliveryStatus)]
    """Pending before its first attempt; delivered and failed are final. Format: pending, retrying, delivered or failed.
    """
    attempt_count: int
    """The number of attempts that ended. Format: 0-8."""
    next_attempt_at: Moment | None
    """When it is attempted next, or again if the process that attempts it now ends; null if it is final.
    Format: RFC 3339 date-time, UTC, milliseconds.
    """
    last_error: str | None
    """Why the last attempt failed; null if it did not. Format: text, at most 400 characters."""
    http_status: int | None
    """The status of the last response; null without a response. Format: 100-599."""
    response_time_ms: int | None
    """How long the last attempt took; null before the first. Format: milliseconds."""
    test: bool
    """Whether it is a test. Format: true or false."""
    manual: bool
    """Whether a resend or a recovery made it. Format: true or false."""
    created_at: Moment
    """When it was made. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment
    """When it was changed last. Format: RFC 3339 date-time, UTC, milliseconds."""
    delivered_at: Moment | None
    """When the receiver accepted it; null if it did not. Format: RFC 3339 date-time, UTC, milliseconds."""
    attempts: list[WebhookAttemptOut]
    """Its attempts. Format: in their order."""


class WebhookDeliveriesQuery(PageQuery, Filters, source="CONTRACT 10"):
    """The query of an endpoint's deliveries."""

    status: Annotated[Literal["pending", "retrying", "delivered", "failed"] | None, Where("status")] = None
    """Only deliveries with this status. Format: pending, retrying, delivered or failed."""
    event_type: Annotated[AnyEventType | None, Where("event_type")] = None
    """Only deliveries of this type. Format: lowercase words with dots, at most 64 characters."""

    @property
    def passes_over_rows(self) -> bool:
        """Whether the query may read rows that are not in the response; no index serves the filters."""
        return bool(self.given_filters)


class WebhookRecoveryIn(In, source="CONTRACT 10"):
    """Past events to deliver again: those from `since` on, and before `until`, which is now by default."""

    since: Moment
    """Only events from then on, of the last 30 days. Format: RFC 3339 date-time."""
    until: Moment | None = None
    """Only events before then. Format: RFC 3339 date-time, by default now."""
    event_types: Annotated[list[Filter], Field(min_length=1, max_length=MAX_FILTERS)] | None = None
    """Only events of these types; null for all. Format: 1-50 event types or category.*."""
    mode: Literal["failed", "missing", "all"] = "failed"
    """Failed: those whose deliveries failed; missing: those that match the filters and were never tried.
    Format: failed, missing or all, by default failed.
    """
    dry_run: bool = False
    """Only count the events. Format: true or false, by default false."""


class WebhookRecoveryOut(Out, source="CONTRACT 10"):
    """The number of events that matched, and of deliveries that were made; a dry run makes none.

    `too_old` events of the period happened over 30 days ago, so they took no part.
    """

    matched: int
    """The number of events that match. Format: 0 or more."""
    enqueued: int
    """The number of deliveries that were made. Format: 0 or more."""
    too_old: int
    """The number of events of the period that happened over 30 days ago, so took no part. Format: 0 or more.
    Source: docs/webhooks.md.
    """
    dry_run: bool
    """Whether it was a dry run. Format: true or false."""


class TestDeliveryIn(In, source="CONTRACT 10"):
    """A test delivery; `payload` becomes the `data` of the event."""

    endpoint_id: Uuid
    """The endpoint to test. Format: UUID, 36 characters."""
    event_type: AnyEventType = TEST
    """The type of the test. Format: lowercase words with dots, at most 64 characters, by default webhook.test."""
    payload: dict[str, JsonValue] | None = None
    """The data of the event; null for {status: ok, source: test-delivery}. Format: JSON, at most 20000 bytes."""


class TestDeliveryOut(Out, source="CONTRACT 10"):
    """The outcome of a test delivery; `status_code` is 0, and `error` says why, if the receiver did not respond."""

    success: bool
    """Whether the receiver answered with a 2xx status. Format: true or false."""
    status_code: int
    """The status of the response; 0 without one. Format: 0 or 100-599."""
    response_time_ms: int
    """How long the attempt took. Format: milliseconds."""
    error: str | None
    """Why it failed; null if it did not. Format: text."""
