"""The queue of webhook deliveries as a delivery worker uses it: which to attempt next, and what an outcome changes.

A delivery is leased for 30 seconds and renewed while it is attempted; a killed process counts no attempt. Endpoints and
tenants have a limited number of attempts at once, and deliveries beyond it are not leased, so a receiver that hangs
delays only its own. `attestlab.webhooks.schedule` has the rules; here they meet the records.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import NamedTuple
from uuid import UUID, uuid4

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import IntegrityFailed
from attestlab.core.records.actors import SystemActor
from attestlab.mail.rules import MailText
from attestlab.mail.service import Mails
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import MANAGERS
from attestlab.web import logging_setup
from attestlab.webhooks import delivery_store, messages, schedule
from attestlab.webhooks.delivery_store import DueDelivery, WaitingEndpoint
from attestlab.webhooks.rules import DisabledReason, EndpointStatus, WebhookDeliveryStatus
from attestlab.webhooks.schedule import EndpointAction, EndpointHealth
from attestlab.webhooks.sending import DeliverySender, SentAttempt
from attestlab.webhooks.service import Webhooks
from attestlab.webhooks.tables import WebhookAttemptRecord, WebhookDeliveryRecord, WebhookEndpointRecord

LEASE_TTL = timedelta(seconds=30)
LEASE_RENEWAL_INTERVAL_S = 10.0
POLL_INTERVAL_S = 0.3
MAX_RETRIES_MADE_DUE_PER_WRITE = 500  # about 10 ms under the writer's lock
ACTOR = SystemActor("attestlab-webhooks")
ENDPOINT_DISABLED = "endpoint disabled"

_FINAL = (WebhookDeliveryStatus.DELIVERED, WebhookDeliveryStatus.FAILED)
_LEASE_COLUMNS = ("lease", "leased_until", "next_attempt_at")
_ENDED_COLUMNS = (
    *("status", "attempt_count", "next_attempt_at", "leased_until", "lease", "last_error", "http_status"),
    *("response_time_ms", "updated_at", "delivered_at"),
)
_GIVEN_UP_COLUMNS = ("status", "next_attempt_at", "leased_until", "lease", "last_error", "updated_at")


class ProbeRight(Enum):
    """The right of an attempt to probe an endpoint whose circuit is open."""

    NOT_NEEDED = auto()
    GRANTED = auto()
    REFUSED = auto()


@dataclass(frozen=True, eq=False, slots=True)
class LeasedDelivery:
    """A delivery that this process attempts."""

    row: DueDelivery
    lease: UUID
    url: str
    secrets: Sequence[str] = field(repr=False)
    probe_right: ProbeRight

    @property
    def is_probe(self) -> bool:
        """Whether it tests a receiver whose circuit is open."""
        return self.probe_right is ProbeRight.GRANTED


class EndedAttempt(NamedTuple):
    """A leased delivery with the outcome of its attempt."""

    delivery: LeasedDelivery
    sent: SentAttempt


class WebhookQueue:
    """The deliveries of all tenants, and their transport; see `attestlab.web.delivery_worker.DeliveryQueue`.

    `random_0_1` draws the jitter of a delay.
    """

    name = "webhooks"
    max_attempts_at_once = schedule.MAX_ATTEMPTS_AT_ONCE
    renewal_interval_s = LEASE_RENEWAL_INTERVAL_S
    poll_interval_s = POLL_INTERVAL_S

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        webhooks: Webhooks,
        mails: Mails,
        sender: DeliverySender,
        random_0_1: Callable[[], float] = random.random,
    ) -> None:
        self.on_enqueued: list[Callable[[], None]] = []
        self._storage = storage
        self._clock = clock
        self._webhooks = webhooks
        self._mails = mails
        self._sender = sender
        self._random_0_1 = random_0_1

    def notify_enqueued(self) -> None:
        """Wake the workers of this process, once new deliveries are durable."""
        for callback in self.on_enqueued:
            callback()

    def find_due(self, running: Collection[LeasedDelivery], *, at_most: int) -> Sequence[UUID]:
        """Return the ids of due deliveries, within the limits of their endpoints and tenants.

        Of a disabled endpoint all that wait are returned, because `lease` gives them up.
        """
        now, ids, attempts = self._clock.now(), list[UUID](), _Attempts(running)
        with self._storage.read() as connection:
            for endpoint in _in_order(delivery_store.list_waiting_endpoints(connection.execute), attempts):
                limit, find = at_most - len(ids), delivery_store.list_waiting_ids
                if endpoint.is_enabled:
                    limit, find = min(limit, attempts.further_attempts(endpoint, now=now)), delivery_store.list_due_ids
                if limit > 0:
                    found = find(connection.execute, endpoint.id, now=now, limit=limit)
                    attempts.add(endpoint, len(found))
                    ids += found
        return ids

    def lease(self, tx: Transaction, due: Sequence[UUID]) -> list[LeasedDelivery]:
        """Lease those that are still due; those of disabled endpoints fail without an attempt."""
        now, lease = self._clock.now(), uuid4()
        rows = delivery_store.list_due(tx.exec, due, now=now)
        endpoints = delivery_store.list_endpoints_by_id(tx.exec, {row.endpoint_id for row in rows})
        enabled = {row.id: row for row in endpoints.values() if _is_enabled(row)}
        self._give_up(tx, [row.id for row in rows if row.endpoint_id not in enabled], now)
        rows = [row for row in rows if row.endpoint_id in enabled and row.next_attempt_at <= now]
        claims = self._claim_probes(tx, {row.endpoint_id for row in rows}, now)
        secrets = {row.id: self._secrets_of(row, now) for row in enabled.values()}
        leased = [
            LeasedDelivery(row, lease, enabled[row.endpoint_id].url, secrets[row.endpoint_id], claims[row.endpoint_id])
            for row in _without_second_probes(rows, claims)
        ]
        self._extend(tx, leased, now)
        return leased

    def renew(self, tx: Transaction, items: Sequence[LeasedDelivery]) -> None:
        """Extend the leases that this process still holds."""
        rows = delivery_store.list_by_id(tx.exec, (item.row.id for item in items))
        self._extend(tx, [item for item in items if _holds_lease(item, rows[item.row.id])], self._clock.now())

    async def attempt(self, item: LeasedDelivery) -> EndedAttempt:
        """Sign and send a delivery once."""
        row = item.row
        sent = await self._sender.send(
            endpoint_id=row.endpoint_id,
            url=item.url,
            secrets=item.secrets,
            event_id=row.event_id,
            event_type=row.event_type,
            body=row.body,
        )
        return EndedAttempt(item, sent)

    def record(self, tx: Transaction, outcomes: Sequence[EndedAttempt]) -> None:
        """Record the attempts, the new statuses of their deliveries, and the health of their endpoints.

        A success counts even if the lease was lost. A failure without a lease does not: another process has the
        delivery now.
        """
        stored = delivery_store.list_by_id(tx.exec, (ended.delivery.row.id for ended in outcomes))
        counted = [ended for ended in outcomes if _counts(ended, stored[ended.delivery.row.id])]
        changes = []
        for seq, ended in enumerate(counted, start=delivery_store.next_attempt_seq(tx.exec)):
            row = stored[ended.delivery.row.id]
            number = row.attempt_count + 1
            tx.add(delivery_store.attempts, attempt_record(seq, row, number=number, sent=ended.sent))
            changes.append(self._change_after(ended, number))
        delivery_store.update_deliveries(tx, _ENDED_COLUMNS, changes)
        self._update_endpoints(tx, counted)

    def _extend(self, tx: Transaction, items: Sequence[LeasedDelivery], now: datetime) -> None:
        until = now + LEASE_TTL
        values = {"leased_until": until, "next_attempt_at": until}
        rows: list[dict[str, object]] = [{"id": item.row.id, "lease": item.lease, **values} for item in items]
        delivery_store.update_deliveries(tx, _LEASE_COLUMNS, rows)

    def _give_up(self, tx: Transaction, ids: Sequence[UUID], now: datetime) -> None:
        rows: list[dict[str, object]] = [
            {
                "id": delivery_id,
                "status": WebhookDeliveryStatus.FAILED.value,
                "next_attempt_at": None,
                "leased_until": None,
                "lease": None,
                "last_error": ENDPOINT_DISABLED,
                "updated_at": now,
            }
            for delivery_id in ids
        ]
        delivery_store.update_deliveries(tx, _GIVEN_UP_COLUMNS, rows)

    def _claim_probes(self, tx: Transaction, endpoint_ids: Collection[UUID], now: datetime) -> dict[UUID, ProbeRight]:
        """Claim the probes of endpoints whose circuit is open, until the lease would end."""
        claims = dict.fromkeys(endpoint_ids, ProbeRight.NOT_NEEDED)
        for endpoint_id, health in delivery_store.list_health(tx.exec, endpoint_ids).items():
            if not health.is_circuit_open:
                continue
            claims[endpoint_id] = ProbeRight.REFUSED
            if schedule.attempts_allowed(health, now=now):
                claims[endpoint_id] = ProbeRight.GRANTED
                claimed = health._replace(circuit_open_until=now + LEASE_TTL)
                delivery_store.replace_health(tx, endpoint_id, claimed)
        return claims

    def _secrets_of(self, row: WebhookEndpointRecord, now: datetime) -> list[str]:
        """Return the secrets that sign; none if they were altered, which fails the attempt and is logged."""
        try:
            return self._webhooks.signing_secrets(row, at=now)
        except IntegrityFailed as error:
            logging_setup.log_repeated_failure("secret of a webhook endpoint not opened", error)
            return []

    def _change_after(self, ended: EndedAttempt, attempts: int) -> dict[str, object]:
        """Return the columns of a delivery after its attempt with this number."""
        sent = ended.sent
        status, next_attempt_at = WebhookDeliveryStatus.DELIVERED, None
        if not sent.is_success:
            pause = self._pause_after(attempts, ended)
            status = WebhookDeliveryStatus.FAILED if pause is None else WebhookDeliveryStatus.RETRYING
            next_attempt_at = None if pause is None else sent.ended_at + pause
        return {
            "id": ended.delivery.row.id,
            "status": status.value,
            "attempt_count": attempts,
            "next_attempt_at": next_attempt_at,
            "leased_until": None,
            "lease": None,
            "last_error": sent.error,
            "http_status": sent.http_status,
            "response_time_ms": sent.response_time_ms,
            "updated_at": sent.ended_at,
            "delivered_at": sent.ended_at if sent.is_success else None,
        }

    def _pause_after(self, attempts: int, ended: EndedAttempt) -> timedelta | None:
        if ended.delivery.row.test or ended.sent.http_status == schedule.GONE:
            return None
        return schedule.delay_after(attempts, jitter_0_1=self._random_0_1(), retry_after=ended.sent.retry_after)

    def _update_endpoints(self, tx: Transaction, counted: Sequence[EndedAttempt]) -> None:
        """Apply attempts to the health of their endpoints, in the order of their ends."""
        by_endpoint: dict[UUID, list[EndedAttempt]] = {}
        for ended in sorted(counted, key=lambda one: one.sent.ended_at):
            by_endpoint.setdefault(ended.delivery.row.endpoint_id, []).append(ended)
        known = delivery_store.list_health(tx.exec, by_endpoint)
        for endpoint_id, attempts in by_endpoint.items():
            health = known.get(endpoint_id, schedule.HEALTHY)
            if all(ended.sent.is_success for ended in attempts) and health == schedule.HEALTHY:
                continue
            self._update_endpoint(tx, endpoint_id, health, attempts)

    def _update_endpoint(
        self, tx: Transaction, endpoint_id: UUID, health: EndpointHealth, attempts: Sequence[EndedAttempt]
    ) -> None:
        for delivery, sent in attempts:
            if sent.is_success:
                health = self._health_after_success(tx, endpoint_id, health, sent)
                continue
            health = schedule.health_after_failure(
                health, began_at=sent.at, at=sent.ended_at, is_probe=delivery.is_probe
            )
            action = schedule.action_after_failure(health, at=sent.ended_at)
            if sent.http_status == schedule.GONE:
                self._disable(tx, endpoint_id, DisabledReason.GONE, sent)
            elif action is EndpointAction.DISABLE:
                self._disable(tx, endpoint_id, DisabledReason.FAILING, sent)
            elif action is EndpointAction.WARN and self._warn(tx, endpoint_id, health, sent):
                health = health._replace(warned_at=sent.ended_at)
        delivery_store.replace_health(tx, endpoint_id, health)

    def _health_after_success(
        self, tx: Transaction, endpoint_id: UUID, health: EndpointHealth, sent: SentAttempt
    ) -> EndpointHealth:
        """Make due what waits for an endpoint that was failing; while a part of it is left, it has probes."""
        if not health.is_circuit_open:
            return schedule.HEALTHY
        limit = MAX_RETRIES_MADE_DUE_PER_WRITE
        made_due = delivery_store.make_retries_due(tx.exec, endpoint_id, now=sent.ended_at, limit=limit)
        return schedule.HEALTHY if made_due < limit else schedule.ANSWERING

    def _disable(self, tx: Transaction, endpoint_id: UUID, reason: DisabledReason, sent: SentAttempt) -> None:
        row = delivery_store.list_endpoints_by_id(tx.exec, [endpoint_id])[endpoint_id]
        if not _is_enabled(row):
            return
        self._webhooks.disable(tx, row, reason, actor=ACTOR)
        self._notify(tx, row, messages.disabled_mail(name=row.name, url=row.url, last_error=sent.error or ""))

    def _warn(self, tx: Transaction, endpoint_id: UUID, health: EndpointHealth, sent: SentAttempt) -> bool:
        row = delivery_store.list_endpoints_by_id(tx.exec, [endpoint_id])[endpoint_id]
        if not _is_enabled(row) or health.failing_since is None:
            return False
        message = messages.failing_mail(
            name=row.name, url=row.url, failing_since=health.failing_since, last_error=sent.error or ""
        )
        self._notify(tx, row, message)
        return True

    def _notify(self, tx: Transaction, row: WebhookEndpointRecord, message: MailText) -> None:
        for address in org_store.list_addresses(tx.exec, row.tenant_id, roles=MANAGERS):
            self._mails.enqueue(
                tx,
                tenant_id=row.tenant_id,
                recipient=address,
                subject=message.subject,
                text=message.text,
                at=self._clock.now(),
            )


class _Attempts:
    """The attempts that a process makes, counted by tenant and endpoint."""

    def __init__(self, running: Collection[LeasedDelivery]) -> None:
        self.of_tenant = Counter(item.row.tenant_id for item in running)
        self._of_endpoint = Counter(item.row.endpoint_id for item in running)
        self._running = len(running)

    def add(self, endpoint: WaitingEndpoint, count: int) -> None:
        """Count further attempts; a disabled endpoint has none, its deliveries are given up."""
        if endpoint.is_enabled:
            self.of_tenant[endpoint.tenant_id] += count
            self._running += count

    def further_attempts(self, endpoint: WaitingEndpoint, *, now: datetime) -> int:
        """Return how many further attempts the endpoint may have."""
        if endpoint.due_at > now:
            return 0
        of_tenant = schedule.further_attempts_of_tenant(self.of_tenant[endpoint.tenant_id], running=self._running)
        return min(of_tenant, schedule.attempts_allowed(endpoint.health, now=now) - self._of_endpoint[endpoint.id])


def attempt_record(
    seq: int, row: DueDelivery | WebhookDeliveryRecord, *, number: int, sent: SentAttempt
) -> WebhookAttemptRecord:
    """Return the row of an attempt; `number` counts those of the delivery from 1."""
    return WebhookAttemptRecord(
        seq=seq,
        delivery_id=row.id,
        tenant_id=row.tenant_id,
        endpoint_id=row.endpoint_id,
        number=number,
        at=sent.at,
        http_status=sent.http_status,
        response_time_ms=sent.response_time_ms,
        error=sent.error,
        response_excerpt=sent.response_excerpt,
    )


def _in_order(waiting: Sequence[WaitingEndpoint], attempts: _Attempts) -> list[WaitingEndpoint]:
    """Order endpoints: those of the tenants with the fewest attempts, then those that have waited longest."""
    return sorted(waiting, key=lambda endpoint: (attempts.of_tenant[endpoint.tenant_id], endpoint.due_at))


def _is_enabled(row: WebhookEndpointRecord) -> bool:
    return row.status == EndpointStatus.ACTIVE and row.deleted_at is None


def _holds_lease(item: LeasedDelivery, row: WebhookDeliveryRecord) -> bool:
    return row.lease == item.lease and row.status not in _FINAL


def _counts(ended: EndedAttempt, row: WebhookDeliveryRecord) -> bool:
    return row.status not in _FINAL and (ended.sent.is_success or row.lease == ended.delivery.lease)


def _without_second_probes(rows: Sequence[DueDelivery], claims: Mapping[UUID, ProbeRight]) -> Iterator[DueDelivery]:
    """Yield the deliveries, but of an endpoint whose circuit is open only the one that is its probe."""
    probed = set[UUID]()
    for row in rows:
        claim = claims[row.endpoint_id]
        if claim is ProbeRight.NOT_NEEDED or (claim is ProbeRight.GRANTED and row.endpoint_id not in probed):
            probed.add(row.endpoint_id)
            yield row
