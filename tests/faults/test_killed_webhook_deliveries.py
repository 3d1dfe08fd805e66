"""SIGKILL of a server that delivers webhooks, at random moments: each event arrives, and none at another tenant."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from support.databases import create_postgres_database
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import wait_until
from support.risk import SIGNAL
from support.server_process import run_json_command
from support.timeouts import WAIT_TIMEOUT_S
from support.webhook_receiver import WebhookReceiver, receive_webhooks

TENANTS = 2
TRAFFIC_S = 0.4
KILLS = 60
EVENT_TYPE = "risk.signal.created"
LEASE_S = 31  # the clock of the last server is ahead by this, so that the leases of killed ones have ended


class Tenants:
    """Tenants with an endpoint each, at a path of the receiver that has the tenant's number."""

    def __init__(self, server: ForkedServer, receiver: WebhookReceiver) -> None:
        where = ("--data", str(server.data), "--database-url", server.database_url, "--json")
        plan = ("--plan", "ENTERPRISE")
        self.keys = [
            run_json_command("tenant", "create", f"Tenant {number}", *plan, *where)["api_key"]
            for number in range(TENANTS)
        ]
        with server.start():
            for number, key in enumerate(self.keys):
                body = {"name": "Receiver", "url": f"{receiver.url}/{number}", "event_filters": [EVENT_TYPE]}
                with server.client(key=key) as client:
                    client.post("/v1/webhooks/endpoints", json=body).raise_for_status()
            server.stop()

    @contextmanager
    def at_work(self, server: ForkedServer) -> Iterator[None]:
        """Cause events of all tenants until the block ends, which may be after the server was killed.

        The block begins when each tenant has caused one.
        """
        is_over, begun = threading.Event(), [threading.Event() for _ in self.keys]
        threads = [
            threading.Thread(target=self._cause_events, args=(server, key, is_over, has_begun))
            for key, has_begun in zip(self.keys, begun, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            assert all(has_begun.wait(WAIT_TIMEOUT_S) for has_begun in begun)
            yield
        finally:
            is_over.set()
            for thread in threads:
                thread.join()

    @staticmethod
    def _cause_events(server: ForkedServer, key: str, is_over: threading.Event, has_begun: threading.Event) -> None:
        with server.client(key=key) as client, suppress(httpx.HTTPError):
            while not is_over.is_set():
                client.post("/v1/risk/signals", json=SIGNAL)
                has_begun.set()

    def events(self, server: ForkedServer, number: int) -> set[str]:
        """The ids of all events of a tenant that its endpoint receives."""
        found, after = set[str](), 0
        with server.client(key=self.keys[number]) as client:
            while items := client.get("/v1/webhooks/events", params={"after": after, "limit": 100}).json()["items"]:
                found |= {item["id"] for item in items if item["type"] == EVENT_TYPE}
                after = items[-1]["sequence"]
        return found


def kill_and_settle(server: ForkedServer, *, kills: int, chance: random.Random) -> None:
    """Traffic and a kill, again and again; in the end every event of each tenant has arrived at its own endpoint."""
    with receive_webhooks() as receiver:
        tenants = Tenants(server, receiver)
        for _ in range(kills):
            server.start()
            with tenants.at_work(server):
                time.sleep(chance.uniform(0, TRAFFIC_S))
                server.kill()
        server.host = ("attestlab_ahead", str(LEASE_S))
        with server.start():
            for number in range(TENANTS):
                events = tenants.events(server, number)
                assert len(events) >= kills, "there was no traffic between the kills"
                wait_until(lambda path=f"/{number}": set(receiver.event_ids(path)), events)  # type: ignore[misc]
            server.stop()
        server.check()
        # At least once: a kill between the request and its record repeats the deliveries in flight, and no others.
        assert len(receiver.received) <= sum(len(set(receiver.event_ids(f"/{n}"))) for n in range(TENANTS)) + 16 * kills


@pytest.fixture(autouse=True)
def private_receivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let webhooks go to loopback."""
    monkeypatch.setenv("ATTESTLAB_WEBHOOK_ALLOW_PRIVATE", "1")


def test_no_event_is_lost_by_kills_on_sqlite(fork_server: ForkServer, tmp_path: Path, is_long: bool) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    kill_and_settle(server, kills=KILLS if is_long else KILLS // 12, chance=random.Random("webhooks"))


def test_no_event_is_lost_by_kills_on_postgresql(
    fork_server: ForkServer, tmp_path: Path, postgres_url: str, is_long: bool
) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", create_postgres_database(postgres_url))
    kill_and_settle(server, kills=KILLS if is_long else KILLS // 20, chance=random.Random("postgres"))
