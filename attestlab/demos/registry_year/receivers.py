"""The webhooks of the demo's year: two receivers, what they answered, and what became of the deliveries.

The service's own dispatcher, queue and retry schedule make the rows, on the clock of the year; no request is sent. At
its end both endpoints are disabled and no delivery waits, so a served demo contacts no host of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from operator import attrgetter
from random import Random
from typing import NamedTuple
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.webhooks import delivery_store
from attestlab.webhooks.delivery_queue import EndedAttempt, LeasedDelivery, WebhookQueue
from attestlab.webhooks.delivery_store import WaitingEndpoint
from attestlab.webhooks.http_transport import DELIVERY_TIMEOUT_S, ReceiverResponse
from attestlab.webhooks.rules import EndpointStatus
from attestlab.webhooks.schedule import GONE, MAX_ATTEMPTS_AT_ONCE_PER_ENDPOINT
from attestlab.webhooks.sending import SentAttempt, describe_response
from attestlab.webhooks.shapes import EndpointChanges

FIRST_DAYS_AGO, LAST_DAYS_AGO = 120.0, 0.6
_GONE_DAYS_AGO = 30.0
_UNTIL_DISPATCHED = 1 / 86_400  # days after what publishes
_BUSY_PERIOD, _SILENCE_PERIOD = 9, 50  # in deliveries
_CLOCK_STEP = timedelta(milliseconds=1)
_OK, _BUSY = 200, 503


class Receiver(NamedTuple):
    """A receiver and what it wants; after `gone_days_ago` it answers 410."""

    name: str
    url: str
    event_filters: tuple[str, ...]
    gone_days_ago: float = 0.0


RECEIVERS = (
    Receiver(
        "Campus portal",
        "https://portal.northfield.example.edu/hooks/attestations",
        ("attestation.revoked", "attestation.superseded", "attestation.expired"),
    ),
    Receiver(
        "Old intranet", "https://intranet.example.org/attestlab", ("verification.failed", "key.*"), _GONE_DAYS_AGO
    ),
)


class Receivers:
    """The endpoints that `caller` made, and their deliveries; each verb joins the transaction that it gets."""

    def __init__(self, lab: Installation, clock: RewoundClock, caller: Caller, *, seed: int) -> None:
        self._lab = lab
        self._clock = clock
        self._caller = caller
        self._random = Random(f"{seed}:receivers")
        self._queue = WebhookQueue(
            storage=lab.storage,
            clock=clock,
            webhooks=lab.webhooks,
            mails=lab.mails,
            sender=lab.webhook_deliveries.sender,
            random_0_1=self._random.random,
        )
        self._receivers: dict[UUID, Receiver] = {}
        self._numbers: dict[UUID, int] = {}  # of the deliveries, in the order of their first attempts

    def list_actions(self, publishing: Iterable[ScheduledAction]) -> Iterator[ScheduledAction]:
        """Yield the deliveries after each action that may publish events, from the endpoints' first day to the last."""
        yield ScheduledAction(FIRST_DAYS_AGO, self._open)
        for days_ago in {action.days_ago for action in publishing}:
            if LAST_DAYS_AGO < days_ago < FIRST_DAYS_AGO:
                yield ScheduledAction(days_ago - _UNTIL_DISPATCHED, self._deliver)
        yield ScheduledAction(LAST_DAYS_AGO, self._close)

    def _open(self, tx: Transaction) -> None:
        for each in RECEIVERS:
            made = self._lab.webhooks.create(each.name, each.url, each.event_filters, caller=self._caller, tx=tx)
            self._receivers[made.row.id] = each

    def _close(self, tx: Transaction) -> None:
        """Disable the endpoints that are active, so that the dispatcher makes no delivery of later events."""
        self._deliver(tx)
        changes = EndpointChanges(status=EndpointStatus.DISABLED)
        for endpoint_id in self._receivers:
            self._lab.webhooks.update(endpoint_id, changes, caller=self._caller, tx=tx)

    def _deliver(self, tx: Transaction) -> None:
        """Attempt what was published until no delivery waits, each attempt at its time."""
        while self._lab.webhook_deliveries.dispatcher.dispatch(tx):
            pass
        while waiting := delivery_store.list_waiting_endpoints(tx.exec):
            self._attempt_next(tx, min(waiting, key=attrgetter("due_at")))
        while (mail := self._lab.mails.lease(tx)) is not None:  # that an endpoint is gone
            self._lab.mails.mark_sent(tx, mail.id)

    def _attempt_next(self, tx: Transaction, endpoint: WaitingEndpoint) -> None:
        if endpoint.is_enabled:
            self._wait_until(max(endpoint.due_at, endpoint.circuit_open_until or endpoint.due_at))
        find = delivery_store.list_due_ids if endpoint.is_enabled else delivery_store.list_waiting_ids
        found = find(tx.exec, endpoint.id, now=self._clock.now(), limit=MAX_ATTEMPTS_AT_ONCE_PER_ENDPOINT)
        leased = self._queue.lease(tx, found)
        self._queue.record(tx, [EndedAttempt(item, self._answer(item)) for item in leased])

    def _wait_until(self, at: datetime) -> None:
        self._clock.move_to(self._clock.behind - max(timedelta(0), at - self._clock.now()) - _CLOCK_STEP)

    def _answer(self, item: LeasedDelivery) -> SentAttempt:
        """Return what the receiver answers: most deliveries are accepted, some later, and a few never."""
        now, number = self._clock.now(), self._numbers.setdefault(item.row.id, len(self._numbers) + 1)
        if number % _SILENCE_PERIOD == 0:
            ended_at, text = now + timedelta(seconds=DELIVERY_TIMEOUT_S), "No response within 5 seconds."
            return SentAttempt(now, ended_at, None, int(1_000 * DELIVERY_TIMEOUT_S), text)
        is_busy = number % _BUSY_PERIOD == 0 and item.row.attempt_count == 0
        is_gone = self._clock.behind < timedelta(days=self._receivers[item.row.endpoint_id].gone_days_ago)
        status = GONE if is_gone else _BUSY if is_busy else _OK
        elapsed_ms = 20 + int(self._random.expovariate(1 / 60))
        ended_at = now + timedelta(milliseconds=elapsed_ms)
        return describe_response(ReceiverResponse(status, {}, "", elapsed_ms), at=now, ended_at=ended_at)
