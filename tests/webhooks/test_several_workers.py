"""Several workers share one queue: each delivery is leased, and delivered, by one of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime
from pathlib import Path
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.delivery_worker import DeliveryWorker
from attestlab.webhooks.delivery_queue import ENDPOINT_DISABLED, LEASE_TTL
from attestlab.webhooks.http_transport import OutgoingRequest, ReceiverResponse
from attestlab.webhooks.rules import EndpointStatus, WebhookDeliveryStatus
from attestlab.webhooks.sending import RequestTransport
from support.fork_server import call_at_once
from support.in_process_server import wait_until
from support.timeouts import WAIT_TIMEOUT_S
from support.webhook_delivery import Bench, silent
from support.webhook_receiver import receive_webhooks

pytestmark = pytest.mark.both_engines

PROCESSES = 3
EVENTS, ENDPOINTS = 60, 4  # more than the 32 attempts at once of one process, so that each process has some
DELIVERED, FAILED = WebhookDeliveryStatus.DELIVERED, WebhookDeliveryStatus.FAILED


@pytest.fixture
def bench(lab: Installation) -> Bench:
    return Bench(lab)


def open_another(data: Path, database_url: str, now: datetime) -> Installation:
    """Open an installation in another process, whose clock stands still: no lease ends."""
    settings = Settings(data=data, database_url=database_url, webhook_allow_private=True)
    return Installation.open(settings, clock=FixedClock(now))


def places(bench: Bench) -> tuple[Path, str, datetime]:
    """Where other processes find the installation of a test, and the time."""
    settings = bench.lab.settings
    assert settings.database_url is not None
    return settings.data, settings.database_url, bench.clock.now()


def meet(folder: Path, own: object) -> bool:
    """Say that this process is there; whether all of them are."""
    (folder / f"process-{own}").touch()
    return len(list(folder.glob("process-*"))) == PROCESSES


def lease_when_all_have_looked(data: Path, url: str, now: datetime, own: int) -> list[UUID]:
    """Look for what is due, wait for the other processes to have looked, and lease what was found."""
    lab = open_another(data, url, now)
    queue = lab.webhook_deliveries.queue
    due = queue.find_due((), at_most=128)
    wait_until(lambda: meet(data, own), True)
    with lab.storage.write() as tx:
        leased = [one.row.id for one in queue.lease(tx, due)]
    lab.close()
    assert len(due) == 32
    return leased


class MeetingTransport:
    """Sends requests once every process has one to send."""

    def __init__(self, inner: RequestTransport, data: Path, own: int) -> None:
        self._inner, self._data, self._own = inner, data, own
        self.sent = 0

    async def send(self, request: OutgoingRequest) -> ReceiverResponse:
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not meet(self._data, self._own):
                await asyncio.sleep(0.01)
        self.sent += 1
        return await self._inner.send(request)


def deliver_until_nothing_waits(data: Path, url: str, now: datetime, own: int) -> int:
    """Run a worker until no delivery of the installation waits; returns how many requests it sent."""
    lab = open_another(data, url, now)
    bench = Bench(lab)
    transport = MeetingTransport(lab.webhook_deliveries.transport, data, own)
    lab.webhook_deliveries.sender.transport = transport

    async def run() -> None:
        desk = WriteQueue(lab)
        worker = DeliveryWorker(lab.webhook_deliveries.queue, write=desk.write)
        worker.start(desk.background)
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while any(row.next_attempt_at for row in await asyncio.to_thread(bench.deliveries)):
                await asyncio.sleep(0.05)
        await worker.finish(within_s=WAIT_TIMEOUT_S)
        await lab.webhook_deliveries.transport.close()
        await desk.finish()

    asyncio.run(run())
    lab.close()
    return transport.sent


def test_processes_that_found_the_same_deliveries_lease_each_once(bench: Bench, caller: Caller) -> None:
    for number in range(ENDPOINTS):
        bench.endpoint(caller, url=f"https://receiver.example/{number}")
    bench.publish(caller, 8)
    bench.dispatch()

    leased = call_at_once(lease_when_all_have_looked, *[(*places(bench), own) for own in range(PROCESSES)])

    assert sorted(map(len, leased)) == [0] * (PROCESSES - 1) + [32]
    assert {row.id for row in bench.deliveries()} == {one for each in leased for one in each}


def test_workers_that_run_side_by_side_deliver_each_event_once(bench: Bench, caller: Caller) -> None:
    bench.lab.webhooks.allow_private = True
    with receive_webhooks() as receiver:
        for number in range(ENDPOINTS):
            bench.endpoint(caller, url=f"{receiver.url}/{number}")
        events = bench.publish(caller, EVENTS)[-EVENTS:]
        bench.dispatch()
        sent = call_at_once(deliver_until_nothing_waits, *[(*places(bench), own) for own in range(PROCESSES)])
        received = Counter((one.path, one.event_id) for one in receiver.received)

    assert min(sent) > 0, "a process had nothing to do"
    assert received == {(f"/{number}", str(event)): 1 for number in range(ENDPOINTS) for event in events}
    assert {(row.status, row.attempt_count) for row in bench.deliveries()} == {(DELIVERED, 1)}
    assert sorted(attempt.seq for attempt in bench.attempts()) == list(range(ENDPOINTS * EVENTS))


def test_what_another_worker_has_attempted_since_is_not_leased_before_it_is_due(bench: Bench, caller: Caller) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    due = bench.queue.find_due((), at_most=128)
    other = Bench(bench.lab)
    other.transport.answer = silent
    assert other.step() == 1

    with bench.lab.storage.write() as tx:
        assert bench.queue.lease(tx, due) == []


def test_a_lost_lease_is_not_renewed(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    """It belongs to another worker now, whose failed attempt counts."""
    bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    lost = bench.lease()
    clock.advance(LEASE_TTL)
    other = Bench(bench.lab)
    other.transport.answer = silent
    held = other.lease()

    with bench.lab.storage.write() as tx:
        bench.queue.renew(tx, lost)
    other.record(other.attempt(held))

    assert bench.delivery().attempt_count == 1


@pytest.mark.parametrize("is_success", [True, False])
def test_an_attempt_whose_endpoint_is_disabled_during_it_is_recorded(
    bench: Bench, caller: Caller, is_success: bool
) -> None:
    """Workers find and give up what waits for a disabled endpoint, but not what one of them attempts."""
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    due, other = bench.queue.find_due((), at_most=128), Bench(bench.lab)
    leased = bench.lease()
    bench.lab.webhooks.update(endpoint_id, {"status": EndpointStatus.DISABLED}, caller=caller)

    assert other.queue.find_due((), at_most=128) == [], "a worker would look again and again until the attempt ends"
    with bench.lab.storage.write() as tx:
        assert other.queue.lease(tx, due) == []
    if not is_success:
        bench.transport.answer = silent
    bench.record(bench.attempt(leased))
    while bench.queue.find_due((), at_most=128):
        assert bench.lease() == []

    row = bench.delivery()
    assert (row.status, row.attempt_count) == (DELIVERED if is_success else FAILED, 1)
    assert row.last_error == (None if is_success else ENDPOINT_DISABLED)
