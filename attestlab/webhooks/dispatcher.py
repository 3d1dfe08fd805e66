"""The dispatcher: makes deliveries of the events in the outbox, exactly one for each event and endpoint.

It reads the events after its cursor under the writer's lock, and moves the cursor in the transaction that stores the
deliveries. So several processes can run one, and a killed process neither loses nor repeats an event. A mint only
wakes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import outbox
from attestlab.web.delivery_worker import Write
from attestlab.web.supervisor import Round, Supervised, Supervisor
from attestlab.webhooks import delivery_store, rules
from attestlab.webhooks.delivery_store import PublishedEvent, Subscription
from attestlab.webhooks.rules import WebhookDeliveryStatus
from attestlab.webhooks.tables import WebhookDeliveryRecord

MAX_EVENTS_PER_WRITE = 500
MAX_DELIVERIES_PER_WRITE = 1_000  # about 10 ms under the writer's lock
POLL_INTERVAL_S = 0.3  # for events that another process published


class Dispatcher:
    """Makes deliveries of events; `on_dispatched` runs once new ones are durable."""

    def __init__(self, *, storage: Storage, clock: Clock, on_dispatched: Callable[[], None]) -> None:
        self._storage = storage
        self._clock = clock
        self._on_dispatched = on_dispatched
        self.on_published: list[Callable[[], None]] = []

    def watch(self, tx: Transaction) -> None:
        """Commit hook: wake this process's dispatcher once the transaction's events are durable."""
        if tx.buffer(outbox.BUFFER):
            tx.after_commit(self._notify_published)

    def start(self, background: Supervisor, write: Write) -> Supervised:
        """Start to dispatch, as a task of the running event loop; `write` runs a job in the next group commit."""
        return background.start("webhook dispatch", lambda completed_round: self._run(completed_round, write))

    def has_new(self) -> bool:
        """Whether there are events after the cursor that an endpoint may receive."""
        with self._storage.read() as connection:
            first = delivery_store.first_undispatched(connection.execute)
            return first is not None and outbox.last_seq(connection) >= first

    def dispatch(self, tx: Transaction) -> int:
        """Make the deliveries of the next events, and return the number of these events."""
        first = delivery_store.first_undispatched(tx.exec)
        events = [] if first is None else delivery_store.list_published(tx.exec, first, limit=MAX_EVENTS_PER_WRITE)
        if not events:
            return 0
        tenants = {event.tenant_id for event in events}
        subscriptions = _group_by_tenant(delivery_store.list_subscriptions(tx.exec, tenants))
        now, count, made = self._clock.now(), 0, 0
        for event in events:
            if made >= MAX_DELIVERIES_PER_WRITE:
                break
            count += 1
            for endpoint_id in _find_receivers(event, subscriptions.get(event.tenant_id, ())):
                tx.add(delivery_store.deliveries, new_delivery(event, endpoint_id, at=now))
                made += 1
        delivery_store.move_cursor(tx, events[count - 1].seq)
        if made:
            tx.after_commit(self._on_dispatched)
        return count

    async def _run(self, completed_round: Round, write: Write) -> None:
        wake_up, loop = asyncio.Event(), asyncio.get_running_loop()

        def notify() -> None:
            loop.call_soon_threadsafe(wake_up.set)

        self.on_published.append(notify)
        try:
            while True:
                while await asyncio.to_thread(self.has_new):
                    await write(self.dispatch)
                completed_round()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL_S):
                        await wake_up.wait()
                wake_up.clear()
        finally:
            self.on_published.remove(notify)

    def _notify_published(self) -> None:
        for callback in self.on_published:
            callback()


def new_delivery(
    event: PublishedEvent, endpoint_id: UUID, *, at: datetime, manual: bool = False
) -> WebhookDeliveryRecord:
    """Return the row of a delivery of an event; its first attempt is due at once."""
    return WebhookDeliveryRecord(
        id=new_id(at),
        tenant_id=event.tenant_id,
        endpoint_id=endpoint_id,
        event_id=event.id,
        event_seq=event.seq,
        event_type=event.type,
        body=None,
        payload_hash=hash_payload(event.body),
        status=WebhookDeliveryStatus.PENDING.value,
        attempt_count=0,
        next_attempt_at=at,
        leased_until=None,
        lease=None,
        last_error=None,
        http_status=None,
        response_time_ms=None,
        test=False,
        manual=manual,
        created_at=at,
        updated_at=at,
        delivered_at=None,
    )


def hash_payload(body: bytes) -> str:
    """Return the hash of a delivery's body as deliveries show it.

    >>> hash_payload(b"{}")[:20]
    'sha256:44136fa355b36'
    """
    return f"sha256:{sha256(body).hexdigest()}"


def _group_by_tenant(subscriptions: Iterable[Subscription]) -> dict[UUID, list[tuple[Subscription, list[str]]]]:
    """Return the subscriptions of each tenant with their decoded filters."""
    grouped: dict[UUID, list[tuple[Subscription, list[str]]]] = {}
    for each in subscriptions:
        grouped.setdefault(each.tenant_id, []).append((each, rules.decode_filters(each.event_filters)))
    return grouped


def _find_receivers(event: PublishedEvent, subscriptions: Iterable[tuple[Subscription, list[str]]]) -> Iterator[UUID]:
    for each, filters in subscriptions:
        if each.since_seq < event.seq and rules.matches(filters, event.type):
            yield each.endpoint_id
