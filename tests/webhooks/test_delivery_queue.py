"""Deliveries step by step on a controlled clock: attempts, delays, final states, leases, limits and endpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from email.utils import format_datetime

import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.mail import store as mail_store
from attestlab.orgs.rules import Caller, Plan
from attestlab.webhooks import schedule
from attestlab.webhooks.delivery_queue import ENDPOINT_DISABLED, LEASE_TTL, LeasedDelivery
from attestlab.webhooks.rules import EndpointStatus, WebhookDeliveryStatus
from support.identity import add_user
from support.webhook_delivery import OK, URL, Answer, Bench, responding, silent

pytestmark = pytest.mark.both_engines

SPECIFIED_S = (1, 2, 4, 16, 60, 120, 300)
SECOND = timedelta(seconds=1)
FAILED, DELIVERED = WebhookDeliveryStatus.FAILED, WebhookDeliveryStatus.DELIVERED


@pytest.fixture
def bench(lab: Installation) -> Bench:
    return Bench(lab)


@pytest.fixture
def other_tenant(lab: Installation) -> Caller:
    return lab.orgs.service_caller(lab.orgs.create_tenant("Another", plan=Plan.ENTERPRISE).tenant_id)


def run_to_the_end(bench: Bench, clock: FixedClock) -> list[float]:
    """Attempt the only delivery until it is final, each time when it is due; returns the pauses in seconds."""
    pauses: list[float] = []
    while True:
        assert bench.step() == 1
        if bench.delivery().next_attempt_at is None:
            return pauses
        pause = bench.next_attempt_at() - clock.now()
        pauses.append(pause.total_seconds())
        clock.advance(pause - timedelta(milliseconds=1))
        assert bench.step() == 0, "the delivery was attempted before it was due"
        clock.advance(timedelta(milliseconds=1))


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_a_delivery(bench: Bench, caller: Caller, clock: FixedClock, status: int) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = responding(status)

    assert run_to_the_end(bench, clock) == []

    row, (attempt,) = bench.delivery(), bench.attempts()
    assert (row.status, row.attempt_count, row.http_status, row.last_error) == (DELIVERED, 1, status, None)
    assert (row.delivered_at, row.response_time_ms) == (clock.now(), 5)
    assert (attempt.seq, attempt.number, attempt.http_status, attempt.error) == (0, 1, status, None)


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        *((responding(code), code, f"status {code}") for code in (301, 307, 400, 404, 429, 500, 503)),
        (silent, None, "No response within 5 seconds."),
    ],
)
def test_a_failing_receiver_gets_8_attempts_on_the_schedule(
    bench: Bench, caller: Caller, clock: FixedClock, answer: Answer, status: int | None, error: str
) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = answer

    assert run_to_the_end(bench, clock) == list(SPECIFIED_S)

    row, attempts = bench.delivery(), bench.attempts()
    assert (row.status, row.attempt_count, row.http_status, row.delivered_at) == (FAILED, 8, status, None)
    assert error in str(row.last_error)
    assert [(attempt.number, attempt.http_status) for attempt in attempts] == [(n, status) for n in range(1, 9)]
    assert len({request.body for request in bench.transport.requests}) == 1
    assert len({request.headers["X-Service-Event-Id"] for request in bench.transport.requests}) == 1
    assert len({request.headers["X-Service-Timestamp"] for request in bench.transport.requests}) == 8


def test_jitter_is_added_to_each_delay(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    bench = Bench(lab, jitter=1.0)
    bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = silent
    assert run_to_the_end(bench, clock) == pytest.approx([1.3 * delay for delay in SPECIFIED_S], abs=0.001)


@pytest.mark.parametrize(
    ("asked", "first"), [("30", 30), ("0", 1), ("1.5", 2), ("86400", 300), ("9" * 10, 300), ("soon", 1)]
)
def test_retry_after_postpones_the_next_attempt(
    bench: Bench, caller: Caller, clock: FixedClock, asked: str, first: int
) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = responding(503, retry_after=asked)
    pauses = run_to_the_end(bench, clock)
    assert pauses == [max(first, delay) for delay in SPECIFIED_S]
    assert bench.delivery().attempt_count == 8


def test_retry_after_may_be_a_date(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = responding(429, retry_after=format_datetime(clock.now() + 45 * SECOND, usegmt=True))
    bench.step()
    assert bench.next_attempt_at() == clock.now() + 45 * SECOND


def test_410_fails_the_delivery_and_disables_the_endpoint(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller)
    bench.transport.answer = responding(410)

    bench.step()

    row, endpoint = bench.delivery(), bench.lab.webhooks.get(endpoint_id, caller=caller)
    assert (row.status, row.attempt_count, row.http_status) == (FAILED, 1, 410)
    assert (endpoint.status, endpoint.disabled_reason) == (EndpointStatus.DISABLED, "gone")


def test_waiting_deliveries_of_a_disabled_endpoint_fail_without_an_attempt(bench: Bench, caller: Caller) -> None:
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller, 300)
    bench.dispatch()
    bench.lab.webhooks.update(endpoint_id, {"status": EndpointStatus.DISABLED}, caller=caller)

    while bench.queue.find_due((), at_most=128):
        assert bench.lease() == []

    assert {(row.status, row.attempt_count, row.last_error) for row in bench.deliveries()} == {
        (FAILED, 0, ENDPOINT_DISABLED)
    }
    assert bench.transport.requests == []


def test_events_during_a_disabled_time_are_not_delivered_later(bench: Bench, caller: Caller) -> None:
    endpoint_id = bench.endpoint(caller)
    bench.lab.webhooks.update(endpoint_id, {"status": EndpointStatus.DISABLED}, caller=caller)
    bench.publish(caller)
    bench.dispatch()
    bench.lab.webhooks.update(endpoint_id, {"status": EndpointStatus.ACTIVE}, caller=caller)
    bench.publish(caller)
    bench.step()
    assert len(bench.transport.requests) == 1


def test_a_deleted_endpoint_receives_nothing_more(bench: Bench, caller: Caller) -> None:
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    bench.lab.webhooks.delete(endpoint_id, caller=caller)
    assert bench.step() == 0
    assert (bench.delivery().status, bench.transport.requests) == (FAILED, [])


def test_a_delivery_is_leased_by_one_worker_at_a_time(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    due = bench.queue.find_due((), at_most=128)
    other = Bench(bench.lab)

    (leased,) = bench.lease()
    with bench.lab.storage.write() as tx:
        assert other.queue.lease(tx, due) == [], "the other worker had found it before"
    clock.advance(LEASE_TTL - SECOND)
    assert other.lease() == []
    clock.advance(SECOND)
    (again,) = other.lease()
    assert again.row.id == leased.row.id


def test_a_killed_worker_costs_no_attempt(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    """Sixty workers die, each after it has sent the request; the receiver accepts the last one."""
    bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    for _ in range(60):
        bench.attempt(bench.lease())
        clock.advance(LEASE_TTL)
    bench.step()
    assert (bench.delivery().status, bench.delivery().attempt_count) == (DELIVERED, 1)
    assert len(bench.transport.requests) == 61


def test_a_renewed_lease_holds(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    leased = bench.lease()
    for _ in range(5):
        clock.advance(LEASE_TTL - SECOND)
        with bench.lab.storage.write() as tx:
            bench.queue.renew(tx, leased)
        assert Bench(bench.lab).lease() == []


def test_an_outcome_after_a_lost_lease_counts_only_if_it_is_a_success(
    bench: Bench, caller: Caller, clock: FixedClock
) -> None:
    bench.endpoint(caller)
    bench.publish(caller)
    bench.dispatch()
    bench.transport.answer = silent
    late = bench.attempt(bench.lease())
    clock.advance(LEASE_TTL)
    bench.transport.answer = OK
    other = bench.attempt(bench.lease())
    bench.record(late)
    assert bench.delivery().attempt_count == 0
    bench.record(other)
    bench.record(other)
    assert (bench.delivery().status, bench.delivery().attempt_count, len(bench.attempts())) == (DELIVERED, 1, 1)


def test_an_endpoint_has_at_most_8_attempts_at_once_and_a_tenant_32(bench: Bench, caller: Caller) -> None:
    for number in range(6):
        bench.endpoint(caller, url=f"https://receiver.example/{number}")
    bench.publish(caller, 20)
    bench.dispatch()

    leased = bench.lease()

    of_endpoint = [one.row.endpoint_id for one in leased]
    assert len(leased) == schedule.MAX_ATTEMPTS_AT_ONCE_PER_TENANT
    assert max(map(of_endpoint.count, of_endpoint)) == schedule.MAX_ATTEMPTS_AT_ONCE_PER_ENDPOINT
    assert bench.lease(leased) == []


def test_a_full_tenant_does_not_delay_another_one(bench: Bench, caller: Caller, other_tenant: Caller) -> None:
    for number in range(6):
        bench.endpoint(caller, url=f"https://hanging.example/{number}")
    bench.endpoint(other_tenant)
    bench.publish(caller, 50)
    bench.dispatch()
    running = bench.lease()
    bench.publish(other_tenant)
    bench.dispatch()
    assert [one.row.tenant_id for one in bench.lease(running)] == [other_tenant.tenant_id]


def test_a_quarter_of_all_attempts_is_for_tenants_that_have_none(bench: Bench) -> None:
    """The receivers of 64 tenants hang, and take no more than three quarters; each of 100 others has an attempt."""
    hanging = [add_tenant(bench, f"https://hanging.example/{number}") for number in range(64)]
    running = lease_all(bench, hanging, events=12)
    assert len(running) == 3 * schedule.MAX_ATTEMPTS_AT_ONCE // 4 + 16, "48 tenants have 8 attempts, 16 have one"

    others = [add_tenant(bench, f"https://quick.example/{number}") for number in range(100)]
    leased = lease_all(bench, others, events=3, running=running)

    assert Counter(one.row.tenant_id for one in leased) == {each.tenant_id: 1 for each in others}


def add_tenant(bench: Bench, url: str) -> Caller:
    """A tenant with one endpoint."""
    caller = bench.lab.orgs.service_caller(bench.lab.orgs.create_tenant("One of many", plan=Plan.FREE).tenant_id)
    bench.endpoint(caller, url=url)
    return caller


def lease_all(
    bench: Bench, callers: Sequence[Caller], *, events: int, running: Sequence[LeasedDelivery] = ()
) -> list[LeasedDelivery]:
    """Publish events of tenants, and lease while the queue finds deliveries; returns what was leased."""
    for caller in callers:
        bench.publish(caller, events)
    bench.dispatch()
    leased: list[LeasedDelivery] = []
    while found := bench.lease([*running, *leased]):
        leased += found
    return leased


def test_a_new_url_begins_without_the_failures_of_the_old_one(bench: Bench, caller: Caller) -> None:
    endpoint_id = bench.endpoint(caller)
    bench.publish(caller, 20)
    bench.transport.answer = silent
    assert [bench.step(), bench.step(), bench.step()] == [8, 8, 0]
    bench.lab.webhooks.update(endpoint_id, {"name": "renamed", "url": URL}, caller=caller)
    assert bench.step() == 0, "the URL is the same"

    bench.lab.webhooks.update(endpoint_id, {"url": f"{URL}/new"}, caller=caller)

    assert bench.health(endpoint_id) == schedule.HEALTHY
    assert bench.step() == 4


def test_five_days_of_failures_disable_an_endpoint_after_a_warning(bench: Bench, clock: FixedClock) -> None:
    tenant = bench.lab.orgs.create_tenant("A tenant with people", plan=Plan.FREE)
    caller = bench.lab.orgs.service_caller(tenant.tenant_id)
    for role in ("admin", "member"):
        add_user(bench.lab, tenant, f"{role}@tenant.example", "unused", roles=role)
    endpoint_id = bench.endpoint(caller)
    bench.transport.answer = silent
    days: list[tuple[str, int]] = []
    for _ in range(6):
        bench.publish(caller)
        bench.step()
        days.append((bench.lab.webhooks.get(endpoint_id, caller=caller).status, len(mailed(bench))))
        clock.advance(timedelta(days=1))

    people = {recipient for recipient, subject in mailed(bench) if "is failing" in subject}
    assert people == {"admin@tenant.example", tenant.owner_email}
    assert days == [("active", 0)] * 3 + [("active", 2)] * 2 + [("disabled", 4)]
    assert bench.lab.webhooks.get(endpoint_id, caller=caller).disabled_reason == "failing"


def test_a_success_ends_the_days_of_failures(bench: Bench, caller: Caller, clock: FixedClock) -> None:
    endpoint_id = bench.endpoint(caller)
    for answer in (silent, silent, silent, silent, OK, silent, silent):
        bench.transport.answer = answer
        bench.publish(caller)
        bench.step()
        clock.advance(timedelta(days=1))
    assert bench.lab.webhooks.get(endpoint_id, caller=caller).status == EndpointStatus.ACTIVE


def test_a_delivery_carries_the_event_as_it_is_stored(bench: Bench, caller: Caller) -> None:
    bench.endpoint(caller)
    (event_id,) = bench.publish(caller)
    bench.step()
    (request,) = bench.transport.requests
    assert request.headers["webhook-id"] == request.headers["X-Service-Event-Id"] == str(event_id)
    assert f'"id":"{event_id}"'.encode() in request.body


def mailed(bench: Bench) -> list[tuple[str, str]]:
    """The recipients and subjects of all mails."""
    with bench.lab.storage.read() as connection:
        mails = mail_store.mails.c
        return [(row.recipient, row.subject) for row in connection.execute(select(mails.recipient, mails.subject))]
