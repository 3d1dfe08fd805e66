"""Tables of webhook endpoints, their deliveries, and the attempts of each delivery.

Endpoints are audited like all that a tenant sets up. Their health, deliveries and attempts are operational: they
change with every request to a receiver.
"""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


@short_repr
class WebhookEndpointRecord(NamedTuple):
    """An endpoint: the URL of a receiver, and what it receives.

    `event_filters` is a JSON array. `secret` is sealed for this endpoint; after a rotation with an overlap, deliveries
    are also signed with `old_secret` until `old_secret_until`. Events whose `seq` in the outbox is greater than
    `since_seq` are delivered. Of a deleted endpoint the row stays, without its secrets.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    name: Annotated[str, Field(max_length=100)]
    url: Annotated[str, Field(max_length=2048)]
    event_filters: Annotated[str, Field(max_length=4096)]
    status: Annotated[str, Field(max_length=8)]
    disabled_reason: Annotated[str | None, Field(max_length=16)]
    secret: Annotated[bytes, Field(repr=False)]
    old_secret: Annotated[bytes | None, Field(repr=False)]
    old_secret_until: Annotated[datetime | None, Field(repr=False)]
    created_by: Annotated[str, Field(max_length=64)]
    since_seq: Annotated[int, Field(sa_type=BigInteger)]
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


WebhookEndpoint = model_of(
    WebhookEndpointRecord, "webhook_endpoints", Index("ix_webhook_endpoints_of_tenant", "tenant_id", "id")
)


@short_repr
class WebhookEndpointHealthRecord(NamedTuple):
    """The health of an endpoint that has been failing; without a row, it is healthy.

    No attempt begins before `circuit_open_until`: while a worker probes the endpoint, the end of its lease, and
    afterwards a second after the probe began.
    """

    endpoint_id: Annotated[UUID, Field(primary_key=True, foreign_key="webhook_endpoints.id")]
    failing_since: datetime | None
    warned_at: datetime | None
    consecutive_failures: int
    circuit_open_until: datetime | None


WebhookEndpointHealth = model_of(WebhookEndpointHealthRecord, "webhook_endpoint_health")


@short_repr
class WebhookDeliveryRecord(NamedTuple):
    """A delivery of one event to one endpoint.

    `event_seq` is the event's `seq` in the outbox. A test has none; its `body` is stored here instead. While
    `leased_until` is in the future, the worker that holds `lease` makes an attempt, and `next_attempt_at` is the same
    moment. A delivery with a final status has no `next_attempt_at`, so the index has only those that wait.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    endpoint_id: Annotated[UUID, Field(foreign_key="webhook_endpoints.id")]
    event_id: UUID
    event_seq: Annotated[int | None, Field(sa_type=BigInteger)]
    event_type: Annotated[str, Field(max_length=64)]
    body: bytes | None
    payload_hash: Annotated[str, Field(max_length=80)]
    status: Annotated[str, Field(max_length=9)]
    attempt_count: int
    next_attempt_at: datetime | None
    leased_until: datetime | None
    lease: UUID | None
    last_error: Annotated[str | None, Field(max_length=400)]
    http_status: int | None
    response_time_ms: int | None
    test: bool
    manual: bool
    created_at: datetime
    updated_at: datetime
    delivered_at: datetime | None


WebhookDelivery = model_of(
    WebhookDeliveryRecord,
    "webhook_deliveries",
    Index(
        "ix_webhook_deliveries_due",
        "endpoint_id",
        "next_attempt_at",
        sqlite_where=text("next_attempt_at IS NOT NULL"),
    ),
    Index("ix_webhook_deliveries_of_endpoint", "endpoint_id", "id"),
    Index("ix_webhook_deliveries_of_event", "endpoint_id", "event_id"),
)


@short_repr
class WebhookAttemptRecord(NamedTuple):
    """An attempt of a delivery; it never changes.

    `seq` numbers the attempts of all tenants from 0 without gaps, because the lake exports them by number; `number`
    counts those of the delivery from 1.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    delivery_id: Annotated[UUID, Field(foreign_key="webhook_deliveries.id")]
    tenant_id: UUID
    endpoint_id: UUID
    number: int
    at: datetime
    http_status: int | None
    response_time_ms: int
    error: Annotated[str | None, Field(max_length=400)]
    response_excerpt: Annotated[str | None, Field(max_length=1024)]


WebhookAttempt = model_of(
    WebhookAttemptRecord, "webhook_attempts", Index("ix_webhook_attempts_of_delivery", "delivery_id", "number")
)


@short_repr
class WebhookDispatchRecord(NamedTuple):
    """The one row that names the last event of the outbox for which deliveries were made; -1 for none."""

    id: Annotated[int, Field(primary_key=True, sa_column_kwargs={"autoincrement": False})]
    outbox_seq: Annotated[int, Field(sa_type=BigInteger)]


WebhookDispatch = model_of(WebhookDispatchRecord, "webhook_dispatch")
