"""An endpoint that fails: one attempt at a time, at most one a second, oldest due first, and on the schedule."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock, SystemClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.delivery_worker import DeliveryWorker
from attestlab.webhooks import delivery_queue, delivery_store, schedule
from attestlab.webhooks.delivery_queue import LEASE_TTL, POLL_INTERVAL_S
from attestlab.webhooks.http_transport import OutgoingRequest, ReceiverResponse
from attestlab.webhooks.rules import WebhookDeliveryStatus
from support.fork_server import call_at_once
from support.receivers import ReceiverConnection, serve_receiver
from support.timeouts import WAIT_TIMEOUT_S
from support.webhook_delivery import OK, Answer, Bench, ScriptedTransport, responding, silent

pytestmark = pytest.mark.both_engines

SECOND = timedelta(seconds=1)
DEADLINE = timedelta(seconds=5)
POLL = timedelta(seconds=POLL_INTERVAL_S)
FAILED, DELIVERED = WebhookDeliveryStatus.FAILED, WebhookDeliveryStatus.DELIVERED
BUSY = responding(503, retry_after="60")


@dataclass
class SlowTransport(ScriptedTransport):
    """A receiver that takes some time for each request; requests that begin together end together."""

    clock: FixedClock = field(kw_only=True)
    takes: timedelta = DEADLINE

    async def send(self, request: OutgoingRequest) -> ReceiverResponse:
        end = self.clock.now() + self.takes
        await asyncio.sleep(0)  # until the others have begun
        self.clock.at = max(self.clock.at, end)
        return await super().send(request)


class Start(NamedTuple):
    """The beginning of an attempt, how many began with it, and how late it was."""

    at: datetime
    together: int
    lateness: timedelta


def run_to_the_end(bench: Bench, clock: FixedClock, endpoint_id: UUID) -> list[Start]:
    """Attempt what is due until all is final, as a worker does that looks as late as it may."""
    starts: list[Start] = []
    while due := [row.next_attempt_at for row in bench.deliveries() if row.next_attempt_at is not None]:
        now, leased = clock.now(), bench.lease()
        starts += [Start(now, len(leased), now - item.row.next_attempt_at) for item in leased]
        bench.record(bench.attempt(leased))
        if not leased:
            clock.advance(max(min(due), bench.health(endpoint_id).circuit_open_until or now, now) - now + POLL)
    return starts


@pytest.mark.parametrize("takes", [timedelta(0), DEADLINE], ids=["refuses", "hangs"])
def test_of_ten_waiting_events_none_is_a_minute_late(
    lab: Installation, caller: Caller, clock: FixedClock, takes: timedelta
) -> None:
    bench = Bench(lab, transport=SlowTransport(answer=silent, clock=clock, takes=takes))
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller, 10)
    bench.dispatch()

    starts = run_to_the_end(bench, clock, endpoint_id)

    assert {(row.status, row.attempt_count) for row in bench.deliveries()} == {(FAILED, 8)}
    assert max(start.lateness for start in starts) <= timedelta(minutes=1)
    failing = starts[schedule.CIRCUIT_FAILURES :]
    assert {start.together for start in failing} == {1}
    assert min(after.at - before.at for before, after in itertools.pairwise(failing)) >= max(SECOND, takes)


def open_circuit(bench: Bench, caller: Caller, *, events: int, answer: Answer = silent) -> UUID:
    """Let attempts fail until the endpoint counts as failing; returns its id."""
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller, events)
    bench.transport.answer = answer
    assert [bench.step(), bench.step()] == [8, 8]
    assert bench.health(endpoint_id).is_circuit_open
    return endpoint_id


def test_an_endpoint_that_answers_again_gets_at_once_what_waits(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    bench = Bench(lab)
    endpoint_id = open_circuit(bench, caller, events=40, answer=BUSY)
    made = len(bench.attempts())
    clock.advance(SECOND)
    bench.transport.answer = OK

    assert bench.step() == 1
    assert bench.health(endpoint_id) == schedule.HEALTHY
    assert [bench.step() for _ in range(6)] == [8, 8, 8, 8, 7, 0]

    assert {row.status for row in bench.deliveries()} == {DELIVERED}
    assert sum(row.attempt_count for row in bench.deliveries()) == len(bench.attempts()) == made + 40


def test_of_what_waits_the_oldest_is_sent_first_once_the_endpoint_answers(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    """The receiver asked for a minute before each retry; the delivery that it accepts first is the newest."""
    bench = Bench(lab)
    bench.endpoint(caller)
    bench.transport.answer = BUSY
    for _ in range(schedule.CIRCUIT_FAILURES):
        bench.publish(caller)
        assert bench.step() == 1
        clock.advance(SECOND)
    bench.publish(caller)
    bench.transport.answer = OK

    assert [bench.step() for _ in range(4)] == [1, 8, 2, 0]

    *waiting, newest = [row.id for row in bench.deliveries()]
    accepted = [attempt.delivery_id for attempt in bench.attempts()][schedule.CIRCUIT_FAILURES :]
    assert (accepted[0], {*accepted[1:9]}, {*accepted[9:]}) == (newest, {*waiting[:8]}, {*waiting[8:]})


def test_a_delivery_that_fails_again_continues_its_schedule(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    bench = Bench(lab)
    open_circuit(bench, caller, events=17, answer=BUSY)
    clock.advance(SECOND)
    bench.transport.answer = OK
    assert bench.step() == 1
    bench.transport.answer = silent

    assert bench.step() == 8

    again = [row for row in bench.deliveries() if row.attempt_count == 2]
    assert [row.next_attempt_at for row in again] == [clock.now() + schedule.RETRY_DELAYS[1]] * 8


def test_what_waits_for_an_endpoint_that_answers_becomes_due_in_parts(
    lab: Installation, caller: Caller, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part wants a probe that is accepted, without a pause between them; a refusal makes the endpoint fail."""
    monkeypatch.setattr(delivery_queue, "MAX_RETRIES_MADE_DUE_PER_WRITE", 6)
    bench = Bench(lab)
    endpoint_id = open_circuit(bench, caller, events=17, answer=BUSY)
    clock.advance(SECOND)
    bench.transport.answer = OK
    assert [bench.step(), bench.step()] == [1, 1]
    assert bench.health(endpoint_id) == schedule.ANSWERING

    bench.transport.answer = BUSY
    assert [bench.step(), bench.step()] == [1, 0]
    assert bench.health(endpoint_id).failing_since == clock.now()

    clock.advance(SECOND)
    bench.transport.answer = OK
    assert [bench.step() for _ in range(4)] == [1, 8, 6, 0]
    assert {row.status for row in bench.deliveries()} == {DELIVERED}
    assert bench.health(endpoint_id) == schedule.HEALTHY


def test_a_success_makes_nothing_due_that_another_worker_attempts_or_that_failed_later(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    bench, other = Bench(lab), Bench(lab)
    other.transport.answer = BUSY
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller, 3)
    bench.dispatch()
    failing = bench.lease(at_most=1)
    accepted = bench.attempt(bench.lease(at_most=1))
    bench.lease()
    clock.advance(SECOND)
    failed = other.attempt(failing)
    with lab.storage.write() as tx:
        health = schedule.HEALTHY._replace(consecutive_failures=schedule.CIRCUIT_FAILURES)
        delivery_store.replace_health(tx, endpoint_id, health)

    bench.record([*failed, *accepted])

    assert bench.step() == 0
    assert [row.next_attempt_at for row in bench.deliveries() if row.status == "retrying"] == [
        clock.now() + 60 * SECOND
    ]


def test_the_first_success_after_a_few_failures_makes_nothing_due(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    """A receiver that rejects one event and takes the others gets that one on the schedule."""
    bench = Bench(lab)
    bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = BUSY
    assert bench.step() == 1
    bench.transport.answer = OK
    bench.publish(caller)

    assert [bench.step(), bench.step()] == [1, 0]


def test_an_endpoint_fails_from_its_tenth_consecutive_failure_on(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    bench = Bench(lab)
    endpoint_id = bench.endpoint(caller)
    bench.transport.answer = BUSY
    for _ in range(9):
        bench.publish(caller)
        assert bench.step() == 1
    bench.publish(caller, 16)

    assert bench.step() == 8, "after nine failures"
    assert bench.health(endpoint_id).is_circuit_open
    assert bench.step() == 0
    clock.advance(SECOND)
    assert bench.step() == 1


def test_several_workers_make_one_attempt_at_a_time(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    bench, other = Bench(lab), Bench(lab)
    other.transport.answer = silent
    open_circuit(bench, caller, events=20)
    clock.advance(SECOND)
    found = other.queue.find_due((), at_most=128)

    leased = bench.lease()
    assert len(leased) == len(found) == 1
    with lab.storage.write() as tx:
        assert other.queue.lease(tx, found) == [], "the other worker had found it before"
    clock.advance(DEADLINE)
    assert other.queue.find_due((), at_most=128) == [], "a worker would look again and again until the attempt ends"
    bench.record(bench.attempt(leased))

    clock.advance(SECOND)
    assert other.step() == 1
    assert bench.lease() == []


def test_a_killed_worker_holds_a_failing_endpoint_until_its_lease_ends(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    bench = Bench(lab)
    open_circuit(bench, caller, events=20)
    clock.advance(SECOND)
    assert len(bench.lease()) == 1
    clock.advance(LEASE_TTL - SECOND)
    assert Bench(lab).lease() == []
    clock.advance(SECOND)
    assert len(Bench(lab).lease()) == 1


def test_a_failing_endpoint_gets_the_oldest_due_first(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    """The worker had found eight deliveries before another one's failures opened the circuit."""
    bench = Bench(lab)
    endpoint_id = bench.endpoint(caller)
    for _ in range(8):
        bench.publish(caller)
        bench.dispatch()
        clock.advance(SECOND)
    found = bench.queue.find_due((), at_most=128)
    failing = schedule.HEALTHY._replace(consecutive_failures=schedule.CIRCUIT_FAILURES)

    with lab.storage.write() as tx:
        delivery_store.replace_health(tx, endpoint_id, failing)
        (leased,) = bench.queue.lease(tx, found[::-1])

    assert leased.row.id == bench.deliveries()[0].id


def deliver_in_real_time(data: Path, url: str) -> None:
    """Run a worker on the machine's clock until no delivery of the installation waits."""
    settings = Settings(data=data, database_url=url, webhook_allow_private=True)
    lab = Installation.open(settings, clock=SystemClock())
    bench = Bench(lab)

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


def test_processes_deliver_what_waits_once_a_receiver_is_back(lab: Installation, caller: Caller) -> None:
    """It refuses until two requests came one after the other; then it accepts, and has it all within seconds."""
    events, at_once = 12, schedule.CIRCUIT_FAILURES + 4
    lab.webhooks.allow_private = True
    lab.clock = clock = SystemClock()

    def refuse_at_first(connection: ReceiverConnection) -> None:
        while connection.read_request():
            is_back = len(connection.receiver.requests) > at_once
            status = b"200 OK" if is_back else b"503 Later"
            connection.send(b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % status)

    with serve_receiver(refuse_at_first) as receiver:
        bench = Bench(lab, clock=clock)
        bench.endpoint(caller, url=receiver.url)
        bench.publish(caller, events)
        bench.dispatch()
        assert lab.settings.database_url is not None
        call_at_once(deliver_in_real_time, *[(lab.settings.data, lab.settings.database_url)] * 2)
        requests = len(receiver.requests)

    assert {row.status for row in bench.deliveries()} == {DELIVERED}
    assert requests == len(bench.attempts()) == events + at_once
    failed, accepted = (
        [attempt for attempt in bench.attempts() if (attempt.http_status == 200) is is_success]
        for is_success in (False, True)
    )
    assert len(accepted) == events
    assert accepted[-1].at - failed[-1].at < 10 * SECOND
