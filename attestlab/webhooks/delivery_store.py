"""Queries of deliveries and their attempts, and of the events that are to be delivered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Select, and_, bindparam, func, or_, select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.core.records.outbox import OutboxEvent
from attestlab.webhooks.delivery_shapes import WebhookDeliveriesQuery
from attestlab.webhooks.endpoint_store import endpoints, health
from attestlab.webhooks.rules import EndpointStatus
from attestlab.webhooks.schedule import HEALTHY, EndpointHealth
from attestlab.webhooks.tables import (
    WebhookAttempt,
    WebhookAttemptRecord,
    WebhookDelivery,
    WebhookDeliveryRecord,
    WebhookDispatch,
    WebhookEndpointHealthRecord,
    WebhookEndpointRecord,
)

deliveries = table_of(WebhookDelivery)
attempts = table_of(WebhookAttempt)
_dispatch = table_of(WebhookDispatch)
_events = table_of(OutboxEvent)

_CURSOR_ID = 1
_IS_WAITING = deliveries.c.next_attempt_at.is_not(None)
_IS_NOT_LEASED = or_(deliveries.c.leased_until.is_(None), deliveries.c.leased_until <= bindparam("now"))


class WaitingEndpoint(NamedTuple):
    """An endpoint with deliveries that wait; `due_at` is the first of their next attempts."""

    id: UUID
    tenant_id: UUID
    is_enabled: bool
    consecutive_failures: int | None
    circuit_open_until: datetime | None
    due_at: datetime

    @property
    def health(self) -> EndpointHealth:
        """What decides how many attempts the endpoint may have at once."""
        return EndpointHealth(
            consecutive_failures=self.consecutive_failures or 0, circuit_open_until=self.circuit_open_until
        )


@short_repr
class DueDelivery(NamedTuple):
    """A delivery that may be leased, with the body to send."""

    id: UUID
    tenant_id: UUID
    endpoint_id: UUID
    event_id: UUID
    event_type: str
    attempt_count: int
    test: bool
    next_attempt_at: datetime
    body: bytes


@short_repr
class PublishedEvent(NamedTuple):
    """An event of the outbox; `sequence` is its number within the tenant."""

    seq: int
    sequence: int
    tenant_id: UUID
    id: UUID
    type: str
    body: bytes


class Subscription(NamedTuple):
    """What an active endpoint receives."""

    endpoint_id: UUID
    tenant_id: UUID
    event_filters: str
    since_seq: int


def _waiting_endpoints() -> Select[tuple[object, ...]]:
    """Build the query of endpoints with waiting deliveries: one step in the index for each, however many they have."""
    first = select(deliveries.c.endpoint_id).where(_IS_WAITING).order_by(deliveries.c.endpoint_id).limit(1)
    waiting = select(first.scalar_subquery().label("endpoint_id")).cte("waiting", recursive=True)
    others = deliveries.alias("others")
    following = (
        select(others.c.endpoint_id)
        .where(others.c.next_attempt_at.is_not(None), others.c.endpoint_id > waiting.c.endpoint_id)
        .order_by(others.c.endpoint_id)
        .limit(1)
    )
    waiting = waiting.union_all(select(following.scalar_subquery()).where(waiting.c.endpoint_id.is_not(None)))
    due_at = select(func.min(deliveries.c.next_attempt_at)).where(
        deliveries.c.endpoint_id == endpoints.c.id, _IS_WAITING
    )
    is_enabled = and_(endpoints.c.status == EndpointStatus.ACTIVE.value, endpoints.c.deleted_at.is_(None))
    return (
        select(
            endpoints.c.id,
            endpoints.c.tenant_id,
            is_enabled,
            health.c.consecutive_failures,
            health.c.circuit_open_until,
            due_at.scalar_subquery(),
        )
        .select_from(waiting)
        .join(endpoints, endpoints.c.id == waiting.c.endpoint_id)
        .outerjoin(health, health.c.endpoint_id == endpoints.c.id)
    )


_WAITING_ENDPOINTS = _waiting_endpoints()
_DUE_OF_ENDPOINT = (
    select(deliveries.c.id)
    .where(deliveries.c.endpoint_id == bindparam("endpoint"), deliveries.c.next_attempt_at <= bindparam("now"))
    .order_by(deliveries.c.next_attempt_at)
    .limit(bindparam("limit"))
)
_WAITING_OF_ENDPOINT = (
    select(deliveries.c.id)
    .where(deliveries.c.endpoint_id == bindparam("endpoint"), _IS_WAITING, _IS_NOT_LEASED)
    .order_by(deliveries.c.next_attempt_at)
    .limit(bindparam("limit"))
)
_LATER_RETRIES = (
    select(deliveries.c.id)
    .where(
        deliveries.c.endpoint_id == bindparam("endpoint"),
        deliveries.c.next_attempt_at > bindparam("now"),
        deliveries.c.updated_at <= bindparam("now"),
        _IS_NOT_LEASED,
    )
    .order_by(deliveries.c.next_attempt_at)
    .limit(bindparam("limit"))
)
_MAKE_DUE = (
    deliveries.update().where(deliveries.c.id.in_(_LATER_RETRIES)).values(next_attempt_at=deliveries.c.created_at)
)
_LAST_ATTEMPT = select(func.max(attempts.c.seq))


def list_waiting_endpoints(execute: Execute) -> list[WaitingEndpoint]:
    """List the endpoints with deliveries that are not final."""
    return fetch_all(execute(_WAITING_ENDPOINTS), WaitingEndpoint)


def list_due_ids(execute: Execute, endpoint_id: UUID, *, now: datetime, limit: int) -> list[UUID]:
    """List the deliveries of an endpoint that have been due longest."""
    return list(execute(_DUE_OF_ENDPOINT, {"endpoint": endpoint_id, "now": now, "limit": limit}).scalars())


def list_waiting_ids(execute: Execute, endpoint_id: UUID, *, now: datetime, limit: int) -> list[UUID]:
    """List the deliveries of an endpoint that are neither final nor leased, due or not."""
    return list(execute(_WAITING_OF_ENDPOINT, {"endpoint": endpoint_id, "now": now, "limit": limit}).scalars())


def list_due(execute: Execute, ids: Sequence[UUID], *, now: datetime) -> list[DueDelivery]:
    """List those of the deliveries that are still waiting and not leased, with their bodies, oldest due first."""
    columns = [getattr(deliveries.c, name) for name in DueDelivery._fields[:-1]]
    query = (
        select(*columns, func.coalesce(deliveries.c.body, _events.c.body))
        .outerjoin(_events, _events.c.seq == deliveries.c.event_seq)
        .where(deliveries.c.id.in_(ids), _IS_WAITING, _IS_NOT_LEASED)
        .order_by(deliveries.c.next_attempt_at, deliveries.c.id)
    )
    return fetch_all(execute(query, {"now": now}), DueDelivery)


def list_by_id(execute: Execute, ids: Iterable[UUID]) -> dict[UUID, WebhookDeliveryRecord]:
    """Return deliveries by id."""
    query = select(*deliveries.c).where(deliveries.c.id.in_(list(ids)))
    return {row.id: row for row in fetch_all(execute(query), WebhookDeliveryRecord)}


def list_endpoints_by_id(execute: Execute, ids: Iterable[UUID]) -> dict[UUID, WebhookEndpointRecord]:
    """Return endpoints by id, deleted ones included."""
    query = select(*endpoints.c).where(endpoints.c.id.in_(list(ids)))
    return {row.id: row for row in fetch_all(execute(query), WebhookEndpointRecord)}


def list_health(execute: Execute, ids: Iterable[UUID]) -> dict[UUID, EndpointHealth]:
    """Return the health of those endpoints that have failed since their last success."""
    query = select(*health.c).where(health.c.endpoint_id.in_(list(ids)))
    rows = fetch_all(execute(query), WebhookEndpointHealthRecord)
    return {row.endpoint_id: EndpointHealth(*row[1:]) for row in rows}


def replace_health(tx: Transaction, endpoint_id: UUID, new: EndpointHealth) -> None:
    """Store the health of an endpoint; a healthy one has no row."""
    tx.exec(health.delete().where(health.c.endpoint_id == endpoint_id))
    if new != HEALTHY:
        tx.add(health, WebhookEndpointHealthRecord(endpoint_id, *new))


def update_deliveries(tx: Transaction, names: tuple[str, ...], rows: Sequence[dict[str, object]]) -> None:
    """Update the columns `names` of deliveries; each row has their id too."""
    if rows:
        tx.bulk_update(deliveries, names, rows)


def make_retries_due(execute: Execute, endpoint_id: UUID, *, now: datetime, limit: int) -> int:
    """Make up to `limit` retries of an endpoint due whose time comes after `now`; returns how many there were.

    They are due since their creation, so that workers attempt the oldest first. A delivery that failed after `now`
    stays on its schedule.
    """
    return execute(_MAKE_DUE, {"endpoint": endpoint_id, "now": now, "limit": limit}).rowcount


def next_attempt_seq(execute: Execute) -> int:
    """Return the number of the next attempt of all tenants."""
    last: int | None = execute(_LAST_ATTEMPT).scalar()
    return 0 if last is None else last + 1


def get_delivery(execute: Execute, delivery_id: UUID, *, tenant_id: UUID) -> WebhookDeliveryRecord:
    """Get a delivery of the tenant to an endpoint that is not deleted.

    Raises:
        NotFound: the tenant has no such delivery.
    """
    query = (
        select(*deliveries.c)
        .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
        .where(deliveries.c.id == delivery_id, deliveries.c.tenant_id == tenant_id, endpoints.c.deleted_at.is_(None))
    )
    row = fetch_one(execute(query), WebhookDeliveryRecord)
    if row is None:
        raise NotFound("webhook delivery", delivery_id)
    return row


def list_deliveries(
    execute: Execute, endpoint_id: UUID, criteria: WebhookDeliveriesQuery, *, before: UUID | None, limit: int
) -> list[WebhookDeliveryRecord]:
    """List the deliveries of an endpoint, newest first."""
    conditions = build_conditions(criteria, deliveries.c)
    query = select(*deliveries.c).where(deliveries.c.endpoint_id == endpoint_id, *conditions)
    if before is not None:
        query = query.where(deliveries.c.id < before)
    return fetch_all(execute(query.order_by(deliveries.c.id.desc()).limit(limit)), WebhookDeliveryRecord)


def list_attempts(execute: Execute, ids: Collection[UUID]) -> dict[UUID, list[WebhookAttemptRecord]]:
    """Return the attempts of deliveries, in their order."""
    found: dict[UUID, list[WebhookAttemptRecord]] = {delivery_id: [] for delivery_id in ids}
    query = select(*attempts.c).where(attempts.c.delivery_id.in_(list(ids)))
    for row in fetch_all(execute(query.order_by(attempts.c.delivery_id, attempts.c.number)), WebhookAttemptRecord):
        found[row.delivery_id].append(row)
    return found


def first_undispatched(execute: Execute) -> int | None:
    """Return the `seq` of the first event that deliveries may have to be made for; None while there is no endpoint.

    Events before the oldest endpoint concern none, so without endpoints nothing is written, however many events occur.
    """
    oldest = select(func.min(endpoints.c.since_seq)).where(endpoints.c.deleted_at.is_(None)).scalar_subquery()
    row = execute(select(_dispatch.c.outbox_seq, oldest)).first()
    if row is None or row[1] is None:
        return None
    return int(max(row[0], row[1])) + 1


def move_cursor(tx: Transaction, seq: int) -> None:
    """Record that deliveries were made for all events up to `seq`."""
    tx.exec(_dispatch.update().where(_dispatch.c.id == _CURSOR_ID).values(outbox_seq=seq))


def list_published(execute: Execute, first_seq: int, *, limit: int) -> list[PublishedEvent]:
    """List the events of all tenants from `first_seq` on."""
    columns = [getattr(_events.c, name) for name in PublishedEvent._fields]
    query = select(*columns).where(_events.c.seq >= first_seq).order_by(_events.c.seq).limit(limit)
    return fetch_all(execute(query), PublishedEvent)


def list_subscriptions(execute: Execute, tenant_ids: Iterable[UUID]) -> list[Subscription]:
    """List the active endpoints of tenants."""
    columns = (endpoints.c.id, endpoints.c.tenant_id, endpoints.c.event_filters, endpoints.c.since_seq)
    is_enabled = (endpoints.c.status == EndpointStatus.ACTIVE.value, endpoints.c.deleted_at.is_(None))
    query = select(*columns).where(endpoints.c.tenant_id.in_(list(tenant_ids)), *is_enabled)
    return fetch_all(execute(query), Subscription)


def list_events_of_tenant(
    execute: Execute, tenant_id: UUID, *, after: int, until: datetime, limit: int
) -> list[PublishedEvent]:
    """List a tenant's events that follow its number `after` and happened before `until`, in ascending order."""
    columns = [getattr(_events.c, name) for name in PublishedEvent._fields]
    query = (
        select(*columns)
        .where(_events.c.tenant_id == tenant_id, _events.c.sequence > after, _events.c.created_at < until)
        .order_by(_events.c.sequence)
        .limit(limit)
    )
    return fetch_all(execute(query), PublishedEvent)


def statuses_by_event(execute: Execute, endpoint_id: UUID, event_ids: Iterable[UUID]) -> dict[UUID, set[str]]:
    """Return the statuses of an endpoint's deliveries of events, by event; an event without any has no entry."""
    query = select(deliveries.c.event_id, deliveries.c.status).where(
        deliveries.c.endpoint_id == endpoint_id, deliveries.c.event_id.in_(list(event_ids))
    )
    found: dict[UUID, set[str]] = {}
    for event_id, status in execute(query):
        found.setdefault(event_id, set()).add(status)
    return found
