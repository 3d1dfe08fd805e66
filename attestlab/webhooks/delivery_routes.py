"""HTTP routes of deliveries: list, resend, recover and test them."""

from functools import partial
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, Conflict, NotFound
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.routing.routes import Limit, Routes
from attestlab.webhooks.deliveries import DeliveryWithAttempts, Recovery, WebhookDeliveries
from attestlab.webhooks.delivery_shapes import (
    TestDeliveryIn,
    TestDeliveryOut,
    WebhookAttemptOut,
    WebhookDeliveriesQuery,
    WebhookDeliveryOut,
    WebhookRecoveryIn,
    WebhookRecoveryOut,
)
from attestlab.webhooks.rules import RecoveryMode
from attestlab.webhooks.sending import SentAttempt
from attestlab.webhooks.tables import WebhookAttemptRecord, WebhookDeliveryRecord

routes = Routes("webhooks")
_LIST = "webhook_deliveries"


@routes.get("/v1/webhooks/endpoints/{id}/deliveries", scope=Scope.WEBHOOKS_READ)
async def list_webhook_deliveries(
    id: UUID,
    query: WebhookDeliveriesQuery,
    caller: Caller,
    webhook_deliveries: WebhookDeliveries,
    executor: Executor,
) -> Page[WebhookDeliveryOut]:
    """List the deliveries to an endpoint, newest first, each with its attempts.

    A delivery is made for each event that the endpoint's filters match; one that was resent is a separate delivery.
    """
    read = executor.run_in_thread if query.passes_over_rows else executor.read
    found = await read(
        partial(
            webhook_deliveries.list_page,
            id,
            query,
            caller=caller,
            before=decode_id(_LIST, query.cursor),
            limit=query.limit + 1,
        )
    )
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda one: [str(one.row.id)])
    return Page[WebhookDeliveryOut](items=[_render_delivery(one) for one in shown], next_cursor=cursor)


@routes.post("/v1/webhooks/deliveries/{id}/resend", scope=Scope.WEBHOOKS_WRITE, status=202, raises=(Conflict,))
def resend_webhook_delivery(
    id: UUID, caller: Caller, webhook_deliveries: WebhookDeliveries, tx: Transaction
) -> WebhookDeliveryOut:
    """Deliver the event of a delivery again; the response is the new delivery, which waits for its first attempt.

    The receiver gets the same event id, so it can recognize an event that it has.
    """
    return _render_delivery(webhook_deliveries.resend(id, caller=caller, tx=tx))


@routes.post("/v1/webhooks/endpoints/{id}/recover", scope=Scope.WEBHOOKS_WRITE, status=202, raises=(Conflict,))
async def recover_webhook_deliveries(
    id: UUID, body: WebhookRecoveryIn, caller: Caller, webhook_deliveries: WebhookDeliveries, executor: Executor
) -> WebhookRecoveryOut:
    """Deliver past events of the last 30 days to an endpoint.

    `failed` takes those whose deliveries failed, `missing` those that match the filters and were never tried here,
    `all` both. Events that were delivered, or that still wait, are left out, so a repetition sends nothing twice.
    `too_old` counts the events of the period that are older. An error after a part names how many were enqueued.
    """

    def plan() -> Recovery:
        return webhook_deliveries.plan_recovery(
            id,
            since=body.since,
            until=body.until,
            mode=RecoveryMode(body.mode),
            event_types=body.event_types,
            caller=caller,
        )

    recovery = await executor.read(plan)
    matched, enqueued = await _recover(recovery, body.dry_run, caller, webhook_deliveries, executor)
    return WebhookRecoveryOut(matched=matched, enqueued=enqueued, too_old=recovery.too_old, dry_run=body.dry_run)


@routes.post(
    "/v1/webhooks/test-delivery", scope=Scope.WEBHOOKS_WRITE, limit=Limit("test-deliveries", 30, 60), raises=(NotFound,)
)
async def send_test_delivery(
    body: TestDeliveryIn, caller: Caller, webhook_deliveries: WebhookDeliveries, executor: Executor
) -> TestDeliveryOut:
    """Send a test event to an endpoint at once, signed like any other; there is one attempt.

    Filters and the endpoint's status do not matter. A success is confirmed by e-mail. A receiver that does not respond
    is a result too, not an error.
    """
    test = await executor.read(
        lambda: webhook_deliveries.prepare_test(
            body.endpoint_id, caller=caller, event_type=body.event_type, payload=body.payload
        )
    )
    sent = await webhook_deliveries.send_test(test)
    await executor.write(lambda tx: webhook_deliveries.record_test(tx, test, sent, caller=caller))
    return _render_test(sent)


async def _recover(
    recovery: Recovery, is_dry_run: bool, caller: Caller, webhook_deliveries: WebhookDeliveries, executor: Executor
) -> tuple[int, int]:
    """Match and enqueue step by step, so that no transaction is long; returns both numbers."""
    matched, enqueued = 0, 0
    after: int | None = None
    try:
        while True:
            match = partial(webhook_deliveries.match, recovery, caller=caller, after=after)
            events, after = await executor.run_in_thread(match)
            matched += len(events)
            if events and not is_dry_run:
                enqueue = partial(webhook_deliveries.enqueue, recovery=recovery, events=events, caller=caller)
                async with executor.bulk.piece():
                    enqueued += await executor.write(enqueue)
            if after is None:
                return matched, enqueued
    except AttestLabError as error:
        if enqueued:
            error.note_done(
                f"{enqueued:,} deliveries were enqueued before; repeat it for the others.", enqueued=enqueued
            )
        raise


_render_test = RowRenderer(
    TestDeliveryOut, SentAttempt, success="is_success", status_code=lambda sent: sent.http_status or 0
)
_render_attempt = RowRenderer(WebhookAttemptOut, WebhookAttemptRecord)
_render_delivery = RowRenderer(
    WebhookDeliveryOut,
    DeliveryWithAttempts,
    parts={"row": WebhookDeliveryRecord},
    attempts=lambda one: list(map(_render_attempt, one.attempts)),
)
