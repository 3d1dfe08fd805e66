"""Endpoints, events and a scripted receiver for tests of webhook deliveries, on a controlled clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from attestlab.core.clock import Clock
from attestlab.core.records import outbox
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.protections.events import ContentProtected
from attestlab.webhooks import delivery_store
from attestlab.webhooks.delivery_queue import EndedAttempt, LeasedDelivery, WebhookQueue
from attestlab.webhooks.http_transport import OutgoingRequest, ReceiverResponse, SendFailed
from attestlab.webhooks.schedule import EndpointHealth
from attestlab.webhooks.sending import DeliverySender
from attestlab.webhooks.tables import WebhookAttemptRecord, WebhookDeliveryRecord

EVENT = ContentProtected.type
URL = "https://receiver.example/hooks"
Answer = Callable[[OutgoingRequest], ReceiverResponse]


def responding(status: int, *, excerpt: str = "", **headers: str) -> Answer:
    """A receiver that always responds with this status; `retry_after` is the header of that name."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: ReceiverResponse(status, fields, excerpt, 5)


def silent(request: OutgoingRequest) -> ReceiverResponse:
    """A receiver that does not respond."""
    raise SendFailed("No response within 5 seconds.", 5_000)


OK = responding(200)


@dataclass
class ScriptedTransport:
    """Receives what is sent: each request gets the answer of its URL, or the default one."""

    answer: Answer = OK
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[OutgoingRequest] = field(default_factory=list)

    async def send(self, request: OutgoingRequest) -> ReceiverResponse:
        self.requests.append(request)
        return self.answers.get(request.url, self.answer)(request)


class Bench:
    """A queue and its dispatcher, driven step by step; jitter is `jitter`."""

    def __init__(
        self,
        lab: Installation,
        *,
        clock: Clock | None = None,
        jitter: float = 0.0,
        transport: ScriptedTransport | None = None,
    ) -> None:
        self.lab = lab
        self.clock = clock or lab.clock
        self.transport = transport or ScriptedTransport()
        self.queue = WebhookQueue(
            storage=lab.storage,
            clock=self.clock,
            webhooks=lab.webhooks,
            mails=lab.mails,
            sender=DeliverySender(self.transport, self.clock),
            random_0_1=lambda: jitter,
        )

    def endpoint(self, caller: Caller, filters: Sequence[str] = (EVENT,), *, url: str = URL) -> UUID:
        """Create an endpoint."""
        return self.lab.webhooks.create("receiver", url, filters, caller=caller).row.id

    def publish(self, caller: Caller, count: int = 1) -> list[UUID]:
        """Publish events; returns the ids of all events of that tenant so far."""
        with self.lab.storage.write() as tx:
            for _ in range(count):
                event = ContentProtected(
                    protection_id=caller.tenant_id,
                    attestation_id=caller.tenant_id,
                    visibility="public",
                    protected_at=self.clock.now(),
                )
                outbox.publish(tx, caller.tenant_id, event, at=self.clock.now())
        with self.lab.storage.read() as connection:
            events = connection.execute(select(outbox.OutboxEvent.id, outbox.OutboxEvent.tenant_id))  # type: ignore[call-overload]  # columns
            return [event_id for event_id, tenant_id in events if tenant_id == caller.tenant_id]

    def dispatch(self) -> int:
        """Make the deliveries of all events; returns the number of events."""
        done = 0
        while True:
            with self.lab.storage.write() as tx:
                count = self.lab.webhook_deliveries.dispatcher.dispatch(tx)
            done += count
            if not count:
                return done

    def lease(self, running: Collection[LeasedDelivery] = (), *, at_most: int = 128) -> list[LeasedDelivery]:
        """Lease what is due."""
        due = self.queue.find_due(running, at_most=at_most)
        with self.lab.storage.write() as tx:
            return self.queue.lease(tx, due)

    def attempt(self, leased: Iterable[LeasedDelivery]) -> list[EndedAttempt]:
        """Attempt leased deliveries, without recording the outcomes."""

        async def attempt_all() -> list[EndedAttempt]:
            return await asyncio.gather(*(self.queue.attempt(one) for one in leased))

        return asyncio.run(attempt_all())

    def record(self, outcomes: Sequence[EndedAttempt]) -> None:
        """Record outcomes."""
        with self.lab.storage.write() as tx:
            self.queue.record(tx, outcomes)

    def step(self) -> int:
        """Dispatch, then lease, attempt and record what is due once; returns the number of attempts."""
        self.dispatch()
        leased = self.lease()
        self.record(self.attempt(leased))
        return len(leased)

    def deliveries(self) -> list[WebhookDeliveryRecord]:
        """All deliveries, oldest first."""
        with self.lab.storage.read() as connection:
            table = delivery_store.deliveries
            rows = connection.execute(select(*table.c).order_by(table.c.id))
            return [WebhookDeliveryRecord._make(row) for row in rows]

    def delivery(self) -> WebhookDeliveryRecord:
        """The only delivery."""
        (row,) = self.deliveries()
        return row

    def attempts(self) -> list[WebhookAttemptRecord]:
        """All attempts, in their order."""
        with self.lab.storage.read() as connection:
            table = delivery_store.attempts
            rows = connection.execute(select(*table.c).order_by(table.c.seq))
            return [WebhookAttemptRecord._make(row) for row in rows]

    def health(self, endpoint_id: UUID) -> EndpointHealth:
        """The health of an endpoint."""
        with self.lab.storage.read() as connection:
            return delivery_store.list_health(connection.execute, [endpoint_id]).get(endpoint_id, EndpointHealth())

    def next_attempt_at(self) -> datetime:
        """When the only delivery is attempted next."""
        at = self.delivery().next_attempt_at
        assert at is not None, "the delivery is final"
        return at
