"""Dispatch: exactly one delivery for each event and endpoint, with several dispatchers, and none to another tenant."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.webhooks import delivery_store
from support.webhook_delivery import Bench

pytestmark = pytest.mark.both_engines


@pytest.fixture
def bench(lab: Installation) -> Bench:
    return Bench(lab)


def cursor(bench: Bench) -> int | None:
    with bench.lab.storage.read() as connection:
        return delivery_store.first_undispatched(connection.execute)


def test_filters_decide_which_events_an_endpoint_receives(bench: Bench, caller: Caller) -> None:
    wanted = [bench.endpoint(caller, ["consumer.content.protected"]), bench.endpoint(caller, ["consumer.*"])]
    bench.endpoint(caller, ["attestation.*"])
    bench.publish(caller)
    bench.dispatch()
    assert sorted(row.endpoint_id for row in bench.deliveries()) == sorted(wanted)


def test_an_endpoint_receives_no_events_from_before_its_creation(bench: Bench, caller: Caller) -> None:
    bench.publish(caller, 3)
    first = bench.endpoint(caller)
    *_, early = bench.publish(caller)
    second = bench.endpoint(caller)
    *_, late = bench.publish(caller)
    bench.dispatch()
    made = {(row.event_id, row.endpoint_id) for row in bench.deliveries()}
    assert made == {(early, first), (late, first), (late, second)}


def test_no_event_goes_to_another_tenant(bench: Bench, caller: Caller) -> None:
    tenants = [caller]
    for number in range(3):
        made = bench.lab.orgs.create_tenant(f"Tenant {number}", plan=Plan.FREE)
        tenants.append(bench.lab.orgs.service_caller(made.tenant_id))
    endpoints = {bench.endpoint(tenant): tenant for tenant in tenants}
    events = {event: tenant for tenant in tenants for event in bench.publish(tenant, 5)}
    bench.dispatch()
    rows = bench.deliveries()
    assert len(rows) == 20
    assert all(endpoints[row.endpoint_id] == events[row.event_id] for row in rows)
    assert all(row.tenant_id == events[row.event_id].tenant_id for row in rows)


def test_without_endpoints_nothing_is_written(bench: Bench, caller: Caller) -> None:
    bench.publish(caller, 3)
    assert not bench.lab.webhook_deliveries.dispatcher.has_new()
    assert cursor(bench) is None
    assert bench.dispatch() == 0


def test_the_cursor_also_passes_events_that_no_endpoint_wants(bench: Bench, caller: Caller) -> None:
    bench.endpoint(caller, ["attestation.*"])
    bench.publish(caller, 3)
    assert bench.lab.webhook_deliveries.dispatcher.has_new()
    assert (bench.dispatch(), bench.deliveries()) == (3, [])
    assert not bench.lab.webhook_deliveries.dispatcher.has_new()


def test_concurrent_dispatchers_make_one_delivery_for_each_event_and_endpoint(bench: Bench, caller: Caller) -> None:
    endpoints = [bench.endpoint(caller, url=f"https://receiver.example/{number}") for number in range(3)]
    events = bench.publish(caller, 1_200)
    others = [Installation.open(bench.lab.settings, clock=bench.lab.clock) for _ in range(3)]
    threads = [threading.Thread(target=Bench(lab).dispatch) for lab in (bench.lab, *others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    made = Counter((row.event_id, row.endpoint_id) for row in bench.deliveries())
    assert made == Counter((event, endpoint) for event in events for endpoint in endpoints)


def test_a_commit_with_events_wakes_the_dispatcher(bench: Bench, caller: Caller) -> None:
    woken: list[bool] = []
    bench.lab.webhook_deliveries.dispatcher.on_published.append(lambda: woken.append(True))
    bench.endpoint(caller)
    assert woken == [], "an endpoint is no event"
    bench.publish(caller)
    assert woken == [True]
