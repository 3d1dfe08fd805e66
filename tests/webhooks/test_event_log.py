"""The event log: each tenant's events have a number without gaps, and 30 days of them can be listed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, insert, select

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import table_of
from attestlab.core.records import outbox
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.receipts.types.events import ReceiptTypeDeprecated
from attestlab.webhooks import event_store
from support.issuers import register_issuer
from support.orgs import TenantClients

PATH = "/v1/webhooks/events"
EVENTS = table_of(OutboxEvent)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
THREADS = 4


def publish(storage: Storage, tenant_id: UUID, *, count: int = 1, at: datetime = NOON) -> None:
    with storage.write() as tx:
        for _ in range(count):
            outbox.publish(tx, tenant_id, ReceiptTypeDeprecated(receipt_type="purchase", deprecated_at=at), at=at)


def sequences(storage: Storage) -> dict[UUID, list[int]]:
    """The numbers of each tenant's events, in the order of all events."""
    found: dict[UUID, list[int]] = {}
    with storage.read() as connection:
        for row in connection.execute(select(EVENTS.c.tenant_id, EVENTS.c.sequence).order_by(EVENTS.c.seq)):
            found.setdefault(row.tenant_id, []).append(row.sequence)
    return found


@pytest.fixture
def publishing(storage: Storage) -> Storage:
    """Records whose transactions write events and nothing else."""
    storage.record_hooks.append(outbox.event_writer(FixedClock(NOON)))
    return storage


@pytest.mark.both_engines
def test_numbers_are_gapless_under_concurrent_commits(publishing: Storage) -> None:
    tenants = [uuid4() for _ in range(3)]
    chosen = random.Random(7)
    published = [(chosen.choice(tenants), chosen.randint(1, 3)) for _ in range(60)]
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda each: publish(publishing, each[0], count=each[1]), published))

    totals = Counter[UUID]()
    for tenant_id, count in published:
        totals[tenant_id] += count
    assert sequences(publishing) == {tenant: list(range(1, total + 1)) for tenant, total in totals.items()}


@pytest.mark.both_engines
def test_a_failed_transaction_leaves_no_gap(publishing: Storage) -> None:
    tenant_id = uuid4()
    publish(publishing, tenant_id)
    with pytest.raises(ZeroDivisionError), publishing.write() as tx:
        event = ReceiptTypeDeprecated(receipt_type="purchase", deprecated_at=NOON)
        outbox.publish(tx, tenant_id, event, at=NOON)
        publishing.run_commit_hooks(tx)
        _ = 1 / 0
    publish(publishing, tenant_id)

    assert sequences(publishing) == {tenant_id: [1, 2]}


def test_events_of_several_tenants_in_one_transaction(publishing: Storage) -> None:
    ours, theirs = uuid4(), uuid4()
    publish(publishing, theirs, count=2)
    with publishing.write() as tx:
        for tenant_id in (ours, theirs, ours):
            event = ReceiptTypeDeprecated(receipt_type="purchase", deprecated_at=NOON)
            outbox.publish(tx, tenant_id, event, at=NOON)

    assert sequences(publishing) == {theirs: [1, 2, 3], ours: [1, 2]}


def read_log(clients: TenantClients, *, limit: int) -> Iterator[dict[str, Any]]:
    """Every event of the tenant, page by page."""
    after = 0
    with clients.with_key() as key:
        while page := key.get(PATH, params={"after": after, "limit": limit}).raise_for_status().json():
            yield from page["items"]
            if not page["items"]:
                assert page["next_after"] >= after, "it passes over what is older than 30 days"
                return
            after = page["next_after"]


@pytest.mark.both_engines
def test_log_is_ascending_and_complete(tenant_clients: TenantClients) -> None:
    stranger = tenant_clients.lab.orgs.create_tenant("Stranger", plan=Plan.FREE)
    with tenant_clients.with_key() as key, tenant_clients.with_key(tenant=stranger) as theirs:
        issuers = [register_issuer(key)["id"] for _ in range(3)]
        register_issuer(theirs)

    listed = list(read_log(tenant_clients, limit=2))

    assert [each["sequence"] for each in listed] == list(range(1, len(listed) + 1))
    created = [each["data"]["issuer_id"] for each in listed if each["type"] == "issuer.created"]
    assert created == issuers
    assert {*listed[0]} == {"sequence", "id", "type", "created_at", "data"}


@pytest.mark.both_engines
def test_a_number_beyond_the_end_finds_the_end(tenant_clients: TenantClients) -> None:
    empty = tenant_clients.lab.orgs.create_tenant("Empty", plan=Plan.FREE)
    with tenant_clients.with_key() as key, tenant_clients.with_key(tenant=empty) as theirs:
        register_issuer(key)
        *_, last = read_log(tenant_clients, limit=100)
        for client, end in ((key, last["sequence"]), (theirs, 0)):
            page = client.get(PATH, params={"after": 2**53 - 1}).raise_for_status().json()
            assert page == {"items": [], "next_after": end, "too_old": 0}


@pytest.mark.both_engines
def test_log_ends_after_thirty_days(tenant_clients: TenantClients, clock: FixedClock) -> None:
    lab, tenant_id = tenant_clients.lab, tenant_clients.tenant.tenant_id
    first = clock.now()
    publish(lab.storage, tenant_id, count=5, at=first)
    publish(lab.storage, tenant_id, count=2, at=first + timedelta(seconds=1))

    clock.advance(timedelta(days=30))
    on_the_last_day = [each["sequence"] for each in read_log(tenant_clients, limit=100)]
    clock.advance(timedelta(seconds=1))
    a_second_later = [each["sequence"] for each in read_log(tenant_clients, limit=100)]
    clock.advance(timedelta(seconds=1))

    assert on_the_last_day[-7:] == [*range(on_the_last_day[-1] - 6, on_the_last_day[-1] + 1)]
    assert a_second_later == on_the_last_day[-2:]
    assert list(read_log(tenant_clients, limit=100)) == []


def test_the_page_counts_what_a_client_misses_that_was_away_for_longer(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    lab, tenant_id = tenant_clients.lab, tenant_clients.tenant.tenant_id
    *_, last = [0, *(each["sequence"] for each in read_log(tenant_clients, limit=100))]
    publish(lab.storage, tenant_id, count=5, at=clock.now())
    clock.advance(timedelta(days=30, seconds=1))
    publish(lab.storage, tenant_id, count=2, at=clock.now())

    with tenant_clients.with_key() as key:
        pages = [key.get(PATH, params={"after": last + seen}).raise_for_status().json() for seen in (0, 4, 5, 6, 7)]

    assert [page["too_old"] for page in pages] == [5, 1, 0, 0, 0]
    assert [each["sequence"] for each in pages[0]["items"]] == [last + 6, last + 7]


@pytest.mark.parametrize(
    ("field", "value"), [("after", "-1"), ("after", "x"), ("after", str(2**63)), ("limit", "0"), ("limit", "101")]
)
def test_malformed_position_is_refused(tenant_clients: TenantClients, field: str, value: str) -> None:
    with tenant_clients.with_key() as key:
        response = key.get(PATH, params={field: value})

    assert response.status_code == 400
    assert response.json()["details"]["fields"][0]["field"] == f"/{field}"


@given(ages=st.lists(st.integers(0, 60), max_size=40), after=st.integers(0, 45))
def test_first_event_of_the_period_is_found_by_halving(ages: list[int], after: int) -> None:
    tenant_id, since = uuid4(), NOON - timedelta(days=30)
    times = [NOON - timedelta(days=age) for age in sorted(ages, reverse=True)]
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        EVENTS.create(connection)
        for number, at in enumerate(times, 1):
            row = {"seq": number, "id": uuid4(), "tenant_id": tenant_id, "type": "t", "created_at": at, "body": b""}
            connection.execute(insert(EVENTS).values(**row, hash=b"", sequence=number))
        found = event_store.find_first_since(connection.execute, tenant_id, since, after=after)
    engine.dispose()

    wanted = [number for number, at in enumerate(times, 1) if at >= since and number > after]
    assert found == (wanted[0] if wanted else len(times) + 1)


def test_new_events_are_those_after_the_creation_of_an_endpoint(lab: Installation, caller: Caller) -> None:
    """The dispatcher compares `since_seq` with the number of each event in the outbox."""
    register = {"domain": "northfield.example.edu", "jurisdiction": "NO"}
    lab.issuers.create({"name": "Before", **register}, caller=caller)
    row = lab.webhooks.create("A receiver", "https://receiver.example.com/", ["issuer.*"], caller=caller).row
    lab.issuers.create({"name": "After", **register}, caller=caller)

    with lab.storage.read() as connection:
        later = connection.scalars(select(EVENTS.c.body).where(EVENTS.c.seq > row.since_seq)).all()
    assert [b'"After"' in body for body in later] == [True]
