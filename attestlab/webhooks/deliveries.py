"""Service for deliveries of webhooks: list, resend and recover them, and send a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, NotFound, RateLimited, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audit
from attestlab.core.records.audit import AuditEntry
from attestlab.mail.service import Mails
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import ApiKeyRecord, UserRecord
from attestlab.webhooks import delivery_store, endpoint_store, event_store, messages, rules
from attestlab.webhooks.delivery_queue import WebhookQueue, attempt_record
from attestlab.webhooks.delivery_shapes import WebhookDeliveriesQuery
from attestlab.webhooks.delivery_store import PublishedEvent
from attestlab.webhooks.dispatcher import Dispatcher, hash_payload, new_delivery
from attestlab.webhooks.event_types import TEST, list_type_names
from attestlab.webhooks.http_transport import DELIVERY_TIMEOUT_S, HttpTransport
from attestlab.webhooks.rules import EndpointStatus, RecoveryMode, WebhookDeliveryStatus
from attestlab.webhooks.sending import DeliverySender, SentAttempt
from attestlab.webhooks.service import Webhooks
from attestlab.webhooks.tables import WebhookAttemptRecord, WebhookDeliveryRecord, WebhookEndpointRecord

DEFAULT_TEST_PAYLOAD: Mapping[str, object] = {"status": "ok", "source": "test-delivery"}
MAX_EVENTS_PER_RECOVERY_STEP = 500
MAX_TESTS_AT_ONCE_PER_TENANT = 8  # of a process


class DeliveryWithAttempts(NamedTuple):
    """A delivery and its attempts, in their order."""

    row: WebhookDeliveryRecord
    attempts: Sequence[WebhookAttemptRecord]


@dataclass(frozen=True)
class Recovery:
    """A request to deliver past events again: those from `since` on, and before `until`.

    `too_old` events happened in the period that was asked for, and over 30 days ago, so they take no part.
    """

    endpoint_id: UUID
    since: datetime
    until: datetime
    mode: RecoveryMode
    event_types: Sequence[str] | None = None
    too_old: int = 0


class RecoveryStep(NamedTuple):
    """Events that a recovery has matched; the next step continues after number `after`, None at the end."""

    events: Sequence[PublishedEvent]
    after: int | None


class PreparedTest(NamedTuple):
    """A test delivery that is about to be sent."""

    endpoint: WebhookEndpointRecord
    event_id: UUID
    event_type: str
    body: bytes


class WebhookDeliveries:
    """The deliveries of tenants' webhooks, with the parts that make and send them.

    `tx` is the unit of work to join; without it, a verb commits its own. `dns_server` is `host:port` of the name server
    that resolves receivers, None for the system's.
    """

    def __init__(self, webhooks: Webhooks, mails: Mails, *, dns_server: str | None) -> None:
        self.storage = storage = webhooks.storage
        self.clock = clock = webhooks.clock
        self.webhooks = webhooks
        self.mails = mails
        self.transport = HttpTransport(allow_private=webhooks.allow_private, dns_server=dns_server)
        self.sender = DeliverySender(self.transport, clock)
        self.queue = WebhookQueue(storage=storage, clock=clock, webhooks=webhooks, mails=mails, sender=self.sender)
        self.dispatcher = Dispatcher(storage=storage, clock=clock, on_dispatched=self.queue.notify_enqueued)
        self._running_tests = Counter[UUID]()

    def list_page(
        self,
        endpoint_id: UUID,
        query: WebhookDeliveriesQuery,
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[DeliveryWithAttempts]:
        """List the deliveries to an endpoint with their attempts, newest first.

        Raises:
            NotFound: the tenant has no such endpoint.
        """
        with self.storage.read() as connection:
            endpoint_store.get_endpoint(connection.execute, endpoint_id, tenant_id=caller.tenant_id)
            rows = delivery_store.list_deliveries(connection.execute, endpoint_id, query, before=before, limit=limit)
            attempts = delivery_store.list_attempts(connection.execute, [row.id for row in rows])
        return [DeliveryWithAttempts(row, attempts[row.id]) for row in rows]

    def resend(self, delivery_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> DeliveryWithAttempts:
        """Make a new delivery of the same event to the same endpoint.

        Raises:
            NotFound: the tenant has no such delivery, or its endpoint is deleted.
            Conflict: the endpoint is disabled.
        """
        with self.storage.write(tx) as tx:
            old = delivery_store.get_delivery(tx.exec, delivery_id, tenant_id=caller.tenant_id)
            self._require_enabled(tx.exec, old.endpoint_id, caller)
            now = self.clock.now()
            made = old._replace(
                id=new_id(now),
                status=WebhookDeliveryStatus.PENDING.value,
                attempt_count=0,
                next_attempt_at=now,
                leased_until=None,
                lease=None,
                last_error=None,
                http_status=None,
                response_time_ms=None,
                manual=True,
                created_at=now,
                updated_at=now,
                delivered_at=None,
            )
            tx.add(delivery_store.deliveries, made)
            facts = {"endpoint_id": str(old.endpoint_id), "event_id": str(old.event_id), "resent": str(old.id)}
            _audit(tx, caller, "webhook_delivery.resend", str(made.id), now, facts)
            tx.after_commit(self.queue.notify_enqueued)
        return DeliveryWithAttempts(made, ())

    def plan_recovery(
        self,
        endpoint_id: UUID,
        *,
        since: datetime,
        until: datetime | None,
        mode: RecoveryMode,
        event_types: Sequence[str] | None,
        caller: Caller,
    ) -> Recovery:
        """Validate a recovery; at most the events of the last 30 days take part.

        Raises:
            NotFound: the tenant has no such endpoint.
            Conflict: the endpoint is disabled.
            ValidationFailed: `until` is not after `since`, or a type is not an event type or category.
        """
        now = self.clock.now()
        until = min(until or now, now)
        if until <= since:
            message = f"`until` ({format_time(until)}) must be after `since` ({format_time(since)}) and is at most now."
            raise ValidationFailed.of("/until", "not_after_since", message)
        wanted = (
            None if event_types is None else rules.validate_filters(event_types, list_type_names(), field="event_types")
        )
        oldest = now - rules.EVENT_LOG
        with self.storage.read() as connection:
            self._require_enabled(connection.execute, endpoint_id, caller)
            too_old = event_store.count_between(connection.execute, caller.tenant_id, since, min(until, oldest))
        return Recovery(endpoint_id, max(since, oldest), until, mode, wanted, too_old)

    def match(self, recovery: Recovery, *, caller: Caller, after: int | None = None) -> RecoveryStep:
        """Return the next events that a recovery would enqueue.

        An event that was delivered to the endpoint, or that still waits, does not match: a recovery that is repeated
        enqueues nothing twice.
        """
        tenant_id = caller.tenant_id
        with self.storage.read() as connection:
            execute = connection.execute
            endpoint = endpoint_store.get_endpoint(execute, recovery.endpoint_id, tenant_id=tenant_id)
            if after is None:
                after = event_store.find_first_since(execute, tenant_id, recovery.since, after=0) - 1
            found = delivery_store.list_events_of_tenant(
                execute, tenant_id, after=after, until=recovery.until, limit=MAX_EVENTS_PER_RECOVERY_STEP
            )
            statuses = delivery_store.statuses_by_event(execute, endpoint.id, (event.id for event in found))
        filters = rules.decode_filters(endpoint.event_filters)
        events = [event for event in found if _is_matched(event, statuses.get(event.id), filters, recovery)]
        return RecoveryStep(events, found[-1].sequence if len(found) == MAX_EVENTS_PER_RECOVERY_STEP else None)

    def enqueue(self, tx: Transaction, recovery: Recovery, events: Sequence[PublishedEvent], *, caller: Caller) -> int:
        """Make deliveries of the events that still match, and return their number.

        Raises:
            NotFound: the endpoint was deleted.
            Conflict: the endpoint was disabled.
        """
        endpoint = self._require_enabled(tx.exec, recovery.endpoint_id, caller)
        statuses = delivery_store.statuses_by_event(tx.exec, recovery.endpoint_id, (event.id for event in events))
        filters, now = rules.decode_filters(endpoint.event_filters), self.clock.now()
        matched = [event for event in events if _is_matched(event, statuses.get(event.id), filters, recovery)]
        for event in matched:
            tx.add(delivery_store.deliveries, new_delivery(event, recovery.endpoint_id, at=now, manual=True))
        facts = {"mode": recovery.mode.value, "since": format_time(recovery.since), "enqueued": len(matched)}
        _audit(tx, caller, "webhook_recovery.enqueue", str(recovery.endpoint_id), now, facts)
        tx.after_commit(self.queue.notify_enqueued)
        return len(matched)

    def prepare_test(
        self, endpoint_id: UUID, *, caller: Caller, event_type: str = TEST, payload: Mapping[str, object] | None = None
    ) -> PreparedTest:
        """Compose a test delivery; filters and the status of the endpoint do not matter.

        Raises:
            NotFound: the tenant has no such endpoint.
            ValidationFailed: the payload is too large.
        """
        with self.storage.read() as connection:
            endpoint = endpoint_store.get_endpoint(connection.execute, endpoint_id, tenant_id=caller.tenant_id)
        data = DEFAULT_TEST_PAYLOAD if payload is None else payload
        if (size := len(canonical(data))) > rules.MAX_DATA_BYTES:
            message = f"The payload has {size:,} bytes as JSON; at most {rules.MAX_DATA_BYTES:,} are allowed."
            raise ValidationFailed.of("/payload", "too_long", message)
        now = self.clock.now()
        event_id = new_id(now)
        body = canonical({"id": str(event_id), "type": event_type, "created_at": format_time(now), "data": data})
        return PreparedTest(endpoint, event_id, event_type, body)

    async def send_test(self, test: PreparedTest) -> SentAttempt:
        """Send a test delivery once, signed like any other.

        Raises:
            RateLimited: the tenant has too many tests running.
        """
        with self._running_test(test.endpoint.tenant_id):
            return await self.sender.send(
                endpoint_id=test.endpoint.id,
                url=test.endpoint.url,
                secrets=self.webhooks.signing_secrets(test.endpoint, at=self.clock.now()),
                event_id=test.event_id,
                event_type=test.event_type,
                body=test.body,
            )

    @contextmanager
    def _running_test(self, tenant_id: UUID) -> Iterator[None]:
        """Run the block as one of the tenant's tests; a receiver that hangs would otherwise hold any number."""
        if self._running_tests[tenant_id] >= MAX_TESTS_AT_ONCE_PER_TENANT:
            message = (
                f"{MAX_TESTS_AT_ONCE_PER_TENANT} test deliveries of the tenant are running, which is the limit. "
                f"Retry in {DELIVERY_TIMEOUT_S:g} seconds, when they have ended."
            )
            limit, wait_s = MAX_TESTS_AT_ONCE_PER_TENANT, DELIVERY_TIMEOUT_S
            raise RateLimited.of_limit(message, limit=limit, window_s=int(wait_s), wait_s=wait_s)
        self._running_tests[tenant_id] += 1
        try:
            yield
        finally:
            self._running_tests[tenant_id] -= 1

    def record_test(self, tx: Transaction, test: PreparedTest, sent: SentAttempt, *, caller: Caller) -> None:
        """Record a test delivery with its attempt; a success is confirmed by e-mail."""
        status = WebhookDeliveryStatus.DELIVERED if sent.is_success else WebhookDeliveryStatus.FAILED
        event = PublishedEvent(0, 0, caller.tenant_id, test.event_id, test.event_type, test.body)
        row = new_delivery(event, test.endpoint.id, at=sent.at)._replace(
            event_seq=None,
            body=test.body,
            payload_hash=hash_payload(test.body),
            status=status.value,
            attempt_count=1,
            next_attempt_at=None,
            last_error=sent.error,
            http_status=sent.http_status,
            response_time_ms=sent.response_time_ms,
            test=True,
            updated_at=sent.ended_at,
            delivered_at=sent.ended_at if sent.is_success else None,
        )
        tx.add(delivery_store.deliveries, row)
        tx.add(
            delivery_store.attempts, attempt_record(delivery_store.next_attempt_seq(tx.exec), row, number=1, sent=sent)
        )
        facts = {"endpoint_id": str(test.endpoint.id), "event_type": test.event_type, "success": sent.is_success}
        _audit(tx, caller, "webhook_delivery.test", str(row.id), sent.ended_at, facts)
        if sent.is_success:
            self._confirm(tx, test, sent, caller)

    def _confirm(self, tx: Transaction, test: PreparedTest, sent: SentAttempt, caller: Caller) -> None:
        """Enqueue the confirmation for the user of the token or the maker of the key, if that person exists."""
        address = _find_address(tx.exec, caller)
        if address is None:
            return
        message = messages.confirmation_mail(
            name=test.endpoint.name,
            url=test.endpoint.url,
            event_type=test.event_type,
            status_code=sent.http_status or 0,
        )
        self.mails.enqueue(
            tx,
            tenant_id=caller.tenant_id,
            recipient=address,
            subject=message.subject,
            text=message.text,
            at=self.clock.now(),
        )

    def _require_enabled(self, execute: Execute, endpoint_id: UUID, caller: Caller) -> WebhookEndpointRecord:
        row = endpoint_store.get_endpoint(execute, endpoint_id, tenant_id=caller.tenant_id)
        if row.status != EndpointStatus.ACTIVE:
            message = "The endpoint is disabled, so nothing is delivered to it. Set its status to active first."
            raise Conflict(message, details={"status": row.status, "disabled_reason": row.disabled_reason})
        return row


def _is_matched(event: PublishedEvent, statuses: set[str] | None, filters: Iterable[str], recovery: Recovery) -> bool:
    """Return whether a recovery makes a delivery of an event; `statuses` are those of its deliveries so far."""
    if recovery.event_types is not None and not rules.matches(recovery.event_types, event.type):
        return False
    if statuses is None:
        return recovery.mode is not RecoveryMode.FAILED and rules.matches(filters, event.type)
    return recovery.mode is not RecoveryMode.MISSING and statuses == {WebhookDeliveryStatus.FAILED.value}


def _find_address(execute: Execute, caller: Caller) -> str | None:
    """Return the e-mail address of the user, or of the user who made the API key; None if there is none."""
    user_id: UUID | None
    try:
        if caller.actor_type == "USER":
            user_id = UUID(caller.actor_id)
        elif caller.actor_type == "API_KEY":
            key_id = UUID(caller.actor_id)
            user_id = org_store.get_owned(execute, ApiKeyRecord, key_id, tenant_id=caller.tenant_id).created_by
        else:
            user_id = None
        if user_id is None:
            return None
        return org_store.get_owned(execute, UserRecord, user_id, tenant_id=caller.tenant_id).email
    except NotFound:
        return None


def _audit(
    tx: Transaction, caller: Caller, action: str, resource_id: str, at: datetime, facts: Mapping[str, object]
) -> None:
    kind = action.partition(".")[0]
    audit.record(tx, AuditEntry(caller.tenant_id, caller, action, kind, resource_id, at, metadata=facts))
