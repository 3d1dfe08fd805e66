"""Deliveries over HTTP: the list, resend, recover and the test delivery, with a receiver on loopback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.mail import store as mail_store
from attestlab.orgs.rules import Caller, Plan
from attestlab.server.write_queue import WriteQueue
from attestlab.web.delivery_worker import DeliveryWorker
from attestlab.webhooks import deliveries, schedule
from attestlab.webhooks.deliveries import Recovery, WebhookDeliveries
from attestlab.webhooks.http_transport import HttpTransport, OutgoingRequest, ReceiverResponse
from attestlab.webhooks.rules import EndpointStatus
from support import patient_http
from support.bulk_pieces import count_pieces
from support.in_process_server import serve_in_thread, wait_until
from support.loop_queries import growing_tables_read_on_the_loop
from support.orgs import TenantClients
from support.timeouts import WAIT_TIMEOUT_S
from support.webhook_delivery import EVENT, OK, URL, Bench, responding, silent
from support.webhook_endpoints import create_endpoint
from support.webhook_receiver import HANGING, receive_webhooks

pytestmark = pytest.mark.both_engines

SECOND = timedelta(seconds=1)
FIELDS = {
    *("id", "endpoint_id", "event_id", "event_type", "payload_hash", "status", "attempt_count", "next_attempt_at"),
    *("last_error", "http_status", "response_time_ms", "test", "manual", "created_at", "updated_at", "delivered_at"),
    "attempts",
}
ATTEMPT_FIELDS = {"number", "at", "http_status", "response_time_ms", "error", "response_excerpt"}


class Account:
    """A tenant with an endpoint, its client, and the queue that is driven step by step."""

    def __init__(self, lab: Installation, url: str) -> None:
        made = lab.orgs.create_tenant("Receiving", plan=Plan.ENTERPRISE)
        self.caller: Caller = lab.orgs.service_caller(made.tenant_id)
        self.clients = TenantClients(lab, url, made)
        self.http = self.clients.with_key()
        self.bench = Bench(lab)
        self.endpoint_id = self.bench.endpoint(self.caller)
        self.path = f"/v1/webhooks/endpoints/{self.endpoint_id}"

    def list(self, **query: Any) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get(f"{self.path}/deliveries", **query)["items"]
        return items

    def get(self, path: str, **query: Any) -> Any:
        return self.http.get(path, params=query).raise_for_status().json()

    def recover(self, mode: str, **more: Any) -> dict[str, Any]:
        since = format_time(self.bench.clock.now() - timedelta(days=3))
        answer = self.http.post(f"{self.path}/recover", json={"since": since, "mode": mode, **more})
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def test(self, **more: Any) -> httpx.Response:
        return self.http.post("/v1/webhooks/test-delivery", json={"endpoint_id": str(self.endpoint_id), **more})


@pytest.fixture
def account(lab: Installation, clock: FixedClock) -> Iterator[Account]:
    clock.advance(timedelta(minutes=1))
    with serve_in_thread(lab) as url:
        account = Account(lab, url)
        with account.http:
            yield account


@dataclass
class HeldTransport:
    """A receiver that responds once it is released."""

    sent: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    async def send(self, request: OutgoingRequest) -> ReceiverResponse:
        self.sent += 1
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not self.released.is_set():
                await asyncio.sleep(0.01)
        return OK(request)


def set_transport(account: Account, answer: Any) -> None:
    """Let the test deliveries of the server go to a scripted receiver."""
    account.bench.transport.answer = answer
    account.bench.lab.webhook_deliveries.sender.transport = account.bench.transport


def subjects(lab: Installation) -> list[tuple[str, str]]:
    with lab.storage.read() as connection:
        mails = mail_store.mails.c
        return [(row.recipient, row.subject) for row in connection.execute(select(mails.recipient, mails.subject))]


def test_the_list_has_all_fields_and_attempts(account: Account) -> None:
    account.bench.publish(account.caller)
    account.bench.transport.answer = responding(500, excerpt="broken")
    account.bench.step()
    (row,) = account.list()
    assert set(row) == FIELDS
    assert set(row["attempts"][0]) == ATTEMPT_FIELDS
    assert (row["status"], row["attempt_count"], row["attempts"][0]["response_excerpt"]) == ("retrying", 1, "broken")
    assert row["payload_hash"].startswith("sha256:")
    assert (row["test"], row["manual"], row["delivered_at"]) == (False, False, None)


def test_the_list_has_pages_newest_first_and_filters(account: Account, clock: FixedClock) -> None:
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        account.bench.publish(account.caller)
        account.bench.transport.answer = responding(200 if number % 2 else 500)
        account.bench.step()
    seen, cursor = [], None
    while True:
        query = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        page = account.get(f"{account.path}/deliveries", **query)
        seen += [item["created_at"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)
    assert {item["status"] for item in account.list(status="delivered")} == {"delivered"}
    assert len(account.list(event_type=EVENT)) == 5
    assert account.list(event_type="issuer.created") == []
    assert account.http.get(f"{account.path}/deliveries", params={"status": "lost"}).status_code == 400


def test_a_filtered_list_is_read_in_a_thread(account: Account) -> None:
    """It may pass over all deliveries of an endpoint, and other requests do not wait for that."""
    account.bench.publish(account.caller)
    account.bench.step()
    for query in ({"status": "failed"}, {"event_type": "issuer.created"}, {"status": "delivered", "event_type": EVENT}):
        with growing_tables_read_on_the_loop(account.bench.lab) as seen:
            account.list(**query)
        assert seen == [], query


def test_resend_makes_a_new_manual_delivery_of_the_same_event(account: Account) -> None:
    account.bench.publish(account.caller)
    account.bench.step()
    (old,) = account.list()
    answer = account.http.post(f"/v1/webhooks/deliveries/{old['id']}/resend")
    made = answer.json()
    assert (answer.status_code, made["status"], made["manual"], made["attempts"]) == (202, "pending", True, [])
    assert (made["event_id"], made["payload_hash"]) == (old["event_id"], old["payload_hash"])
    account.bench.step()
    bodies = [request.body for request in account.bench.transport.requests]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1]
    assert [item["status"] for item in account.list()] == ["delivered", "delivered"]


def test_resend_to_a_disabled_endpoint_is_a_conflict_that_says_what_to_do(account: Account) -> None:
    account.bench.publish(account.caller)
    account.bench.step()
    (old,) = account.list()
    account.http.patch(account.path, json={"status": "disabled"}).raise_for_status()
    answer = account.http.post(f"/v1/webhooks/deliveries/{old['id']}/resend")
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert "status to active" in answer.json()["message"]


def test_recovered_events_are_enqueued_in_pieces_of_background_work(
    account: Account, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.bench.transport.answer = responding(410)
    account.bench.publish(account.caller)
    account.bench.step()
    account.http.patch(account.path, json={"status": "active"})
    clock.advance(timedelta(seconds=1))
    pieces = count_pieces(monkeypatch)

    assert (account.recover("all", dry_run=True)["matched"], len(pieces)) == (1, 0)
    assert (account.recover("all")["enqueued"], len(pieces)) == (1, 1)


def test_recover_failed_missing_and_all(account: Account, clock: FixedClock) -> None:
    """One event before the endpoint's filters matched anything, one that failed, one that was delivered."""
    (older,) = (item["id"] for item in publish_other_type(account))
    account.bench.transport.answer = responding(410)
    account.bench.publish(account.caller)
    account.bench.step()
    account.http.patch(account.path, json={"status": "active", "event_filters": ["consumer.*", "team.*"]})
    account.bench.transport.answer = responding(200)
    account.bench.publish(account.caller)
    account.bench.step()
    clock.advance(timedelta(seconds=1))

    assert account.recover("failed", dry_run=True) == {"matched": 1, "enqueued": 0, "too_old": 0, "dry_run": True}
    assert account.recover("missing", dry_run=True)["matched"] == 1
    assert account.recover("all", dry_run=True)["matched"] == 2
    assert account.recover("all", dry_run=True, event_types=["team.*"])["matched"] == 1
    assert account.recover("all") == {"matched": 2, "enqueued": 2, "too_old": 0, "dry_run": False}
    assert account.recover("all")["matched"] == 0, "what waits is recovered twice"
    while account.bench.step():
        pass
    assert account.recover("all")["matched"] == 0
    recovered = [item for item in account.list() if item["manual"]]
    assert {item["status"] for item in recovered} == {"delivered"}
    assert older in {item["event_id"] for item in recovered}


def publish_other_type(account: Account) -> list[dict[str, Any]]:
    """Publish an event that the endpoint does not receive."""
    answer = account.http.post("/v1/users", json={"email": "new@people.example", "role": "member"})
    assert answer.status_code == 201, answer.text
    account.bench.dispatch()
    return [item for item in account.get("/v1/webhooks/events")["items"] if item["type"] == "team.member_invited"]


def test_recover_takes_events_from_before_the_endpoint(account: Account, clock: FixedClock) -> None:
    account.bench.publish(account.caller, 3)
    clock.advance(timedelta(seconds=1))
    late = account.bench.endpoint(account.caller, url=f"{URL}/late")
    since = format_time(clock.now() - timedelta(days=1))
    answer = account.http.post(
        f"/v1/webhooks/endpoints/{late}/recover", json={"since": since, "mode": "missing", "dry_run": False}
    )
    assert answer.json() == {"matched": 3, "enqueued": 3, "too_old": 0, "dry_run": False}


def test_recover_counts_the_events_of_the_period_that_are_too_old(account: Account, clock: FixedClock) -> None:
    clock.advance(SECOND)
    began = clock.now()
    account.bench.publish(account.caller, 3)
    clock.advance(timedelta(days=20))
    account.bench.publish(account.caller, 2)
    clock.advance(timedelta(days=10, seconds=1))

    since = {"since": format_time(began), "mode": "all", "dry_run": True}
    old_alone = account.http.post(f"{account.path}/recover", json={**since, "until": format_time(began + SECOND)})
    found = account.http.post(f"{account.path}/recover", json=since)

    assert found.json() == {"matched": 2, "enqueued": 0, "too_old": 3, "dry_run": True}
    assert old_alone.json() == {"matched": 0, "enqueued": 0, "too_old": 3, "dry_run": True}


def test_a_recovery_that_ends_early_names_how_many_deliveries_it_made(
    account: Account, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint is disabled while the recovery is under way."""
    monkeypatch.setattr(deliveries, "MAX_EVENTS_PER_RECOVERY_STEP", 2)
    account.bench.publish(account.caller, 4)
    clock.advance(timedelta(seconds=1))
    enqueue = WebhookDeliveries.enqueue

    def disable_after_the_first(self: WebhookDeliveries, tx: Transaction, recovery: Recovery, **more: Any) -> int:
        made = enqueue(self, tx, recovery, **more)
        self.webhooks.update(account.endpoint_id, {"status": EndpointStatus.DISABLED}, caller=account.caller, tx=tx)
        return made

    monkeypatch.setattr(WebhookDeliveries, "enqueue", disable_after_the_first)
    since = format_time(clock.now() - timedelta(days=1))
    answer = account.http.post(f"{account.path}/recover", json={"since": since, "mode": "all"})

    assert answer.status_code == 409
    assert answer.json()["details"]["enqueued"] == 2
    assert answer.json()["message"].endswith("2 deliveries were enqueued before; repeat it for the others.")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"until": "2020-01-01T00:00:00Z"}, "/until"),
        ({"event_types": ["consumer.content.protectd"]}, "/event_types/0"),
        ({"mode": "some"}, "/mode"),
    ],
)
def test_recover_refuses_what_it_cannot_mean(account: Account, changes: dict[str, Any], field: str) -> None:
    since = format_time(account.bench.clock.now() - timedelta(days=1))
    answer = account.http.post(f"{account.path}/recover", json={"since": since, **changes})
    assert answer.status_code == 400
    assert answer.json()["details"]["fields"][0]["field"] == field


def test_a_test_delivery_is_sent_at_once_and_listed(account: Account) -> None:
    set_transport(account, responding(204))
    answer = account.test()
    assert answer.json() == {"success": True, "status_code": 204, "response_time_ms": 5, "error": None}
    (request,) = account.bench.transport.requests
    assert request.headers["X-Service-Event-Type"] == "webhook.test"
    assert b'"data":{"source":"test-delivery","status":"ok"}' in request.body
    (row,) = account.list()
    assert (row["test"], row["status"], len(row["attempts"])) == (True, "delivered", 1)


def test_a_test_delivery_passes_over_filters_and_the_disabled_state(account: Account) -> None:
    set_transport(account, responding(200))
    account.http.patch(account.path, json={"status": "disabled"}).raise_for_status()
    assert account.test(event_type="any.type_at_all", payload={"n": 1}).json()["success"] is True


@pytest.mark.parametrize(("answer", "status", "error"), [(silent, 0, "No response"), (responding(500), 500, "500")])
def test_a_failed_test_delivery_is_a_result_without_a_retry(
    account: Account, answer: Any, status: int, error: str
) -> None:
    set_transport(account, answer)
    response = account.test()
    found = response.json()
    assert (response.status_code, found["success"], found["status_code"]) == (200, False, status)
    assert error in found["error"]
    assert account.bench.step() == 0
    assert subjects(account.bench.lab) == []
    assert account.list()[0]["status"] == "failed"


def test_only_a_success_is_confirmed_by_mail_to_the_user(account: Account) -> None:
    set_transport(account, responding(200))
    with account.clients.owner() as user:
        user.post("/v1/webhooks/test-delivery", json={"endpoint_id": str(account.endpoint_id)}).raise_for_status()
    assert subjects(account.bench.lab) == [(account.clients.tenant.owner_email, "Test delivery to receiver succeeded")]


def test_only_a_success_is_confirmed_by_mail_to_the_maker_of_the_key(account: Account) -> None:
    set_transport(account, responding(200))
    body = {"name": "Key of the owner", "scopes": ["webhooks:write"]}
    with account.clients.owner() as user:
        key = user.post("/v1/api-keys", json=body).raise_for_status().json()["secret"]
    with patient_http.open_client(base_url=account.clients.url, headers={"X-API-Key": key}) as client:
        client.post("/v1/webhooks/test-delivery", json={"endpoint_id": str(account.endpoint_id)}).raise_for_status()
    assert [recipient for recipient, _ in subjects(account.bench.lab)] == [account.clients.tenant.owner_email]


def test_the_endpoint_of_another_tenant_cannot_be_tested(account: Account) -> None:
    set_transport(account, responding(200))
    other = account.bench.lab.orgs.create_tenant("A stranger", plan=Plan.FREE)
    with account.clients.with_key(tenant=other) as stranger:
        answer = stranger.post("/v1/webhooks/test-delivery", json={"endpoint_id": str(account.endpoint_id)})
    assert answer.status_code == 404
    assert account.bench.transport.requests == []


def test_the_payload_and_the_type_of_a_test_are_limited(account: Account) -> None:
    assert account.test(payload={"text": "x" * 20_000}).status_code == 400
    assert account.test(event_type="No Type").status_code == 400


def test_a_tenant_has_30_test_deliveries_in_60_seconds(
    account: Account, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    set_transport(account, responding(200))
    with tenant_clients.with_key() as client:
        body = {"endpoint_id": create_endpoint(client)["id"]}
        answers = [client.post("/v1/webhooks/test-delivery", json=body) for _ in range(31)]
        assert [answer.status_code for answer in answers] == [200] * 30 + [429]
        assert answers[-1].headers["Retry-After"] == "60"
        assert answers[-1].json()["details"].items() >= {"limit": 30, "window_seconds": 60}.items()
        assert len(account.bench.transport.requests) == 30
        clock.advance(timedelta(seconds=60))
        assert client.post("/v1/webhooks/test-delivery", json=body).status_code == 200
    assert account.test().json()["success"] is True, "ENTERPRISE has no windows of single routes"


def test_a_tenant_has_8_test_deliveries_at_once(account: Account, tenant_clients: TenantClients) -> None:
    """On every plan: receivers that hang hold no more of the server."""
    transport = HeldTransport()
    account.bench.lab.webhook_deliveries.sender.transport = transport
    with ThreadPoolExecutor(9) as clients, tenant_clients.with_key() as other:
        held = [clients.submit(account.test) for _ in range(8)]
        wait_until(lambda: transport.sent, 8)

        refused = account.test()
        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert refused.headers["Retry-After"] == "5"
        assert "8 test deliveries of the tenant are running" in refused.json()["message"]
        body = {"endpoint_id": create_endpoint(other)["id"]}
        of_another = clients.submit(other.post, "/v1/webhooks/test-delivery", json=body)
        wait_until(lambda: transport.sent, 9)
        transport.released.set()

        assert {each.result().json()["success"] for each in (*held, of_another)} == {True}
        assert account.test().json()["success"] is True


def test_hanging_receivers_do_not_delay_another_tenant(lab: Installation) -> None:
    """64 tenants, enough for all attempts at once, hang; another tenant's event waits for none of them to end."""
    hanging = schedule.MAX_ATTEMPTS_AT_ONCE // schedule.MAX_ATTEMPTS_AT_ONCE_PER_ENDPOINT
    transport = HttpTransport(allow_private=True, timeout_s=2 * WAIT_TIMEOUT_S)
    lab.webhook_deliveries.sender.transport = transport  # also of the queue
    lab.webhooks.allow_private = True
    bench = Bench(lab)
    with receive_webhooks() as receiver, delivering(lab, transport):
        callers = [
            lab.orgs.service_caller(lab.orgs.create_tenant(f"Hanging {number}", plan=Plan.FREE).tenant_id)
            for number in range(hanging)
        ]
        for number, caller in enumerate(callers):
            bench.endpoint(caller, url=f"{receiver.url}{HANGING}/{number}")
        other = lab.orgs.service_caller(lab.orgs.create_tenant("Quick", plan=Plan.FREE).tenant_id)
        bench.endpoint(other, url=f"{receiver.url}/quick")
        for caller in callers:
            bench.publish(caller, 12)
        wait_until(lambda: len({one.path for one in list(receiver.received)}), hanging)
        bench.publish(other)
        wait_until(lambda: len(receiver.event_ids("/quick")), 1)
        assert bench.attempts() == [] or {one.http_status for one in bench.attempts()} == {200}
        receiver.released.set()


@contextmanager
def delivering(lab: Installation, transport: HttpTransport) -> Iterator[None]:
    """Run the dispatcher and the worker of a server in a thread."""
    started, over = threading.Event(), list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()

    async def run() -> None:
        desk = WriteQueue(lab)
        dispatcher = lab.webhook_deliveries.dispatcher.start(desk.background, desk.write)
        worker = DeliveryWorker(lab.webhook_deliveries.queue, write=desk.write)
        worker.start(desk.background)
        over.append((asyncio.get_running_loop(), asyncio.Event()))
        started.set()
        await over[0][1].wait()
        await dispatcher.finish(within_s=0)
        await worker.finish(within_s=WAIT_TIMEOUT_S)
        await transport.close()
        await desk.finish()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert started.wait(WAIT_TIMEOUT_S)
    try:
        yield
    finally:
        over[0][0].call_soon_threadsafe(over[0][1].set)
        thread.join(WAIT_TIMEOUT_S)
