"""Tables of webhook endpoints, their deliveries, and the attempts of each delivery.

Endpoints are audited like all that a tenant sets up. Their health, deliveries and attempts are operational: they
change with every request to a receiver.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, LargeBinary, text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


class WebhookEndpoint(SQLModel, table=True):
    """An endpoint: the URL of a receiver, and what it receives.

    `event_filters` is a JSON array. `secret` is sealed for this endpoint; after a rotation with an overlap, deliveries
    are also signed with `old_secret` until `old_secret_until`. Events whose `seq` in the outbox is greater than
    `since_seq` are delivered. Of a deleted endpoint the row stays, without its secrets.
    """

    __tablename__ = "webhook_endpoints"
    __table_args__ = (Index("ix_webhook_endpoints_of_tenant", "tenant_id", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    name: str = Field(max_length=100)
    url: str = Field(max_length=2048)
    event_filters: str = Field(max_length=4096)
    status: str = Field(max_length=8)
    disabled_reason: str | None = Field(default=None, max_length=16)
    secret: bytes = Field(sa_type=LargeBinary, repr=False)
    old_secret: bytes | None = Field(default=None, sa_type=LargeBinary, repr=False)
    old_secret_until: datetime | None = Field(default=None, repr=False)
    created_by: str = Field(max_length=64)
    since_seq: int = Field(sa_type=BigInteger)
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


@short_repr
class WebhookEndpointRecord(NamedTuple):
    """A row of `webhook_endpoints`."""

    id: UUID
    tenant_id: UUID
    name: str
    url: str
    event_filters: str
    status: str
    disabled_reason: str | None
    secret: bytes
    old_secret: bytes | None
    old_secret_until: datetime | None
    created_by: str
    since_seq: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


class WebhookEndpointHealth(SQLModel, table=True):
    """The health of an endpoint that has been failing; without a row, it is healthy.

    No attempt begins before `circuit_open_until`: while a worker probes the endpoint, the end of its lease, and
    afterwards a second after the probe began.
    """

    __tablename__ = "webhook_endpoint_health"

    endpoint_id: UUID = Field(primary_key=True, foreign_key="webhook_endpoints.id")
    failing_since: datetime | None = None
    warned_at: datetime | None = None
    consecutive_failures: int
    circuit_open_until: datetime | None = None


@short_repr
class WebhookEndpointHealthRecord(NamedTuple):
    """A row of `webhook_endpoint_health`."""

    endpoint_id: UUID
    failing_since: datetime | None
    warned_at: datetime | None
    consecutive_failures: int
    circuit_open_until: datetime | None


class WebhookDelivery(SQLModel, table=True):
    """A delivery of one event to one endpoint.

    `event_seq` is the event's `seq` in the outbox. A test has none; its `body` is stored here instead. While
    `leased_until` is in the future, the worker that holds `lease` makes an attempt, and `next_attempt_at` is the same
    moment. A delivery with a final status has no `next_attempt_at`, so the index has only those that wait.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index(
            "ix_webhook_deliveries_due",
            "endpoint_id",
            "next_attempt_at",
            sqlite_where=text("next_attempt_at IS NOT NULL"),
        ),  # `migrations.models`
        Index("ix_webhook_deliveries_of_endpoint", "endpoint_id", "id"),
        Index("ix_webhook_deliveries_of_event", "endpoint_id", "event_id"),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    endpoint_id: UUID = Field(foreign_key="webhook_endpoints.id")
    event_id: UUID
    event_seq: int | None = Field(default=None, sa_type=BigInteger)
    event_type: str = Field(max_length=64)
    body: bytes | None = Field(default=None, sa_type=LargeBinary)
    payload_hash: str = Field(max_length=80)
    status: str = Field(max_length=9)
    attempt_count: int
    next_attempt_at: datetime | None = None
    leased_until: datetime | None = None
    lease: UUID | None = None
    last_error: str | None = Field(default=None, max_length=400)
    http_status: int | None = None
    response_time_ms: int | None = None
    test: bool
    manual: bool
    created_at: datetime
    updated_at: datetime
    delivered_at: datetime | None = None


@short_repr
class WebhookDeliveryRecord(NamedTuple):
    """A row of `webhook_deliveries`."""

    id: UUID
    tenant_id: UUID
    endpoint_id: UUID
    event_id: UUID
    event_seq: int | None
    event_type: str
    body: bytes | None
    payload_hash: str
    status: str
    attempt_count: int
    next_attempt_at: datetime | None
    leased_until: datetime | None
    lease: UUID | None
    last_error: str | None
    http_status: int | None
    response_time_ms: int | None
    test: bool
    manual: bool
    created_at: datetime
    updated_at: datetime
    delivered_at: datetime | None


class WebhookAttempt(SQLModel, table=True):
    """An attempt of a delivery; it never changes.

    `seq` numbers the attempts of all tenants from 0 without gaps, because the lake exports them by number; `number`
    counts those of the delivery from 1.
    """

    __tablename__ = "webhook_attempts"
    __table_args__ = (Index("ix_webhook_attempts_of_delivery", "delivery_id", "number"),)

    seq: int = Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})
    delivery_id: UUID = Field(foreign_key="webhook_deliveries.id")
    tenant_id: UUID
    endpoint_id: UUID
    number: int
    at: datetime
    http_status: int | None = None
    response_time_ms: int
    error: str | None = Field(default=None, max_length=400)
    response_excerpt: str | None = Field(default=None, max_length=1024)


@short_repr
class WebhookAttemptRecord(NamedTuple):
    """A row of `webhook_attempts`."""

    seq: int
    delivery_id: UUID
    tenant_id: UUID
    endpoint_id: UUID
    number: int
    at: datetime
    http_status: int | None
    response_time_ms: int
    error: str | None
    response_excerpt: str | None


class WebhookDispatch(SQLModel, table=True):
    """The one row that names the last event of the outbox for which deliveries were made; -1 for none."""

    __tablename__ = "webhook_dispatch"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    outbox_seq: int = Field(sa_type=BigInteger)


@short_repr
class WebhookDispatchRecord(NamedTuple):
    """A row of `webhook_dispatch`."""

    id: int
    outbox_seq: int
