"""HTTP routes of webhook endpoints, event types and the event log."""

from uuid import UUID

import orjson

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import QuotaExceeded
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes
from attestlab.webhooks.event_types import EventType, list_event_types
from attestlab.webhooks.rules import decode_filters
from attestlab.webhooks.service import Webhooks
from attestlab.webhooks.shapes import (
    EventLogOut,
    EventLogQuery,
    EventTypeOut,
    EventTypesOut,
    EventTypesQuery,
    LoggedEventOut,
    RotateSecretIn,
    SecretRotatedOut,
    WebhookEndpointIn,
    WebhookEndpointMadeOut,
    WebhookEndpointOut,
    WebhookEndpointPatch,
)
from attestlab.webhooks.tables import WebhookEndpointRecord

routes = Routes("webhooks")
_LIST = "webhook_endpoints"


def _list_filters(row: WebhookEndpointRecord) -> list[str]:
    return decode_filters(row.event_filters)


_render_endpoint = RowRenderer(WebhookEndpointOut, WebhookEndpointRecord, event_filters=_list_filters)
_render_made_endpoint = RowRenderer(
    WebhookEndpointMadeOut, WebhookEndpointRecord, computed=["secret"], event_filters=_list_filters
)
_render_rotated = RowRenderer(SecretRotatedOut, WebhookEndpointRecord, computed=["secret"], rotated_at="updated_at")
_render_event_type = RowRenderer(EventTypeOut, EventType, json_schema="schema")


@routes.post(
    "/v1/webhooks/endpoints",
    scope=Scope.WEBHOOKS_WRITE,
    status=201,
    secret=True,
    headers=("Location",),
    raises=(QuotaExceeded,),
)
def create_webhook_endpoint(
    request: Request, body: WebhookEndpointIn, caller: Caller, webhooks: Webhooks, tx: Transaction
) -> WebhookEndpointMadeOut:
    """Create an endpoint: events that its filters match are sent to its URL, signed with its secret.

    Only this response contains the secret. The URL is https and public, a filter an event type or `category.*`. The
    endpoint receives the events that happen from now on.
    """
    created = webhooks.create(body.name, body.url, body.event_filters, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/webhooks/endpoints/{created.row.id}"
    return _render_made_endpoint(created.row, secret=created.secret)


@routes.get("/v1/webhooks/endpoints", scope=Scope.WEBHOOKS_READ)
def list_webhook_endpoints(query: PageQuery, caller: Caller, webhooks: Webhooks) -> Page[WebhookEndpointOut]:
    """List the tenant's endpoints, newest first.

    Secrets cannot be read again; rotate an endpoint whose secret is lost.
    """
    rows = webhooks.list_page(caller=caller, before=decode_id(_LIST, query.cursor), limit=query.limit + 1)
    shown, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[WebhookEndpointOut](items=[_render_endpoint(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/webhooks/endpoints/{id}", scope=Scope.WEBHOOKS_READ)
def get_webhook_endpoint(id: UUID, caller: Caller, webhooks: Webhooks) -> WebhookEndpointOut:
    """Get an endpoint.

    `disabled_reason` is why a disabled endpoint receives nothing.
    """
    return _render_endpoint(webhooks.get(id, caller=caller))


@routes.patch("/v1/webhooks/endpoints/{id}", scope=Scope.WEBHOOKS_WRITE)
def update_webhook_endpoint(
    id: UUID, body: WebhookEndpointPatch, caller: Caller, webhooks: Webhooks, tx: Transaction
) -> WebhookEndpointOut:
    """Change an endpoint's name, URL, filters or status; omitted fields are unchanged.

    The status `active` enables an endpoint. It forgets earlier failures, as a new URL does. Waiting deliveries go to
    the new URL.
    """
    return _render_endpoint(webhooks.update(id, body.changes(), caller=caller, tx=tx))


@routes.delete("/v1/webhooks/endpoints/{id}", scope=Scope.WEBHOOKS_WRITE, status=204)
def remove_webhook_endpoint(id: UUID, caller: Caller, webhooks: Webhooks, tx: Transaction) -> None:
    """Delete an endpoint and its secrets; it receives nothing more.

    A second deletion is a 404.
    """
    webhooks.delete(id, caller=caller, tx=tx)


@routes.post("/v1/webhooks/endpoints/{id}/rotate", scope=Scope.WEBHOOKS_WRITE, secret=True)
def rotate_webhook_secret(
    id: UUID, body: RotateSecretIn | None, caller: Caller, webhooks: Webhooks, tx: Transaction
) -> SecretRotatedOut:
    """Rotate an endpoint's secret; the old one stops working at once.

    With `overlap_seconds`, at most a day, deliveries carry a signature of each secret until then. Only this response
    contains the new secret.
    """
    rotated = webhooks.rotate(id, overlap=(body or RotateSecretIn()).overlap, caller=caller, tx=tx)
    return _render_rotated(rotated.row, secret=rotated.secret)


@routes.get("/v1/webhooks/event-types", scope=Scope.WEBHOOKS_READ)
def list_webhook_event_types(query: EventTypesQuery) -> EventTypesOut:
    """List the types of events, of one category or all, each with the JSON Schema and an example of its envelope.

    Later versions may add types, and members to `data`.
    """
    wanted = [each for each in list_event_types() if query.category in (None, each.category)]
    return EventTypesOut(items=[_render_event_type(each) for each in wanted])


@routes.get("/v1/webhooks/events", scope=Scope.WEBHOOKS_READ)
def list_webhook_events(query: EventLogQuery, caller: Caller, webhooks: Webhooks) -> EventLogOut:
    """List the tenant's events of the last 30 days in ascending order, after the number `after`.

    The numbers have no gaps, so a client that continues with `next_after` misses no event. If it was away for longer,
    `too_old` counts the events after `after` that are no longer listed.
    """
    page = webhooks.list_events(caller=caller, after=query.after, limit=query.limit)
    items = [LoggedEventOut(sequence=event.sequence, **orjson.loads(event.body)) for event in page.events]
    return EventLogOut(items=items, next_after=page.next_after, too_old=page.too_old)
