"""A bulk request whose server is killed and started again, and that is sent again each time: each signal is once."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

import httpx
from sqlalchemy import func, select

from attestlab.risk.signals.store import signals
from support.databases import create_postgres_database
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.lab_checks import check_lab
from support.outbox import read_events_of_type

KILLS, SIGNALS = 2, 8_000
KILLS_IN_SOAK, SIGNALS_IN_SOAK = 12, 40_000
PAUSE_S = 0.03
BACKFILL, LIVE = "?backfill=true", ""
HEADERS = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "history"}


def make_lines(count: int) -> str:
    """Lines of signals, of which some link entities, and some have an escape, so that they are read carefully."""
    signal = {"source": "history", "signal_type": "behavior", "score": 12.5, "entity_type": "user"}
    named = [{"entity_id": f"{'user' if number % 5 else 'usér'}-{number}"} for number in range(count)]
    linked = [{"details": {"device_id": f"device-{number % 7}"}} if number % 3 == 0 else {} for number in range(count)]
    return "".join(json.dumps({**signal, **id, **more}) + "\n" for id, more in zip(named, linked, strict=True))


def send(client: httpx.Client, text: str, query: str) -> httpx.Response | None:
    """The response, or None if the server was killed before it."""
    try:
        return client.post(f"/v1/risk/signals/bulk{query}", content=text, headers=HEADERS)
    except httpx.TransportError:
        return None


def send_and_kill(server: ForkedServer, text: str, query: str, chance: random.Random, *, recorded: int) -> None:
    """Kill the server once it has recorded more signals of the request than `recorded`, or has answered."""
    with server.start().client() as sender, server.client() as reader:
        thread = threading.Thread(target=send, args=(sender, text, query))
        thread.start()
        while thread.is_alive() and read_count(reader) <= recorded:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, PAUSE_S))
        server.kill()
        thread.join()


def read_count(client: httpx.Client) -> int:
    items = client.get("/v1/risk/sources").raise_for_status().json()["items"]
    return int(items[0]["count"]) if items else 0


def count_signals(server: ForkedServer) -> tuple[int, int]:
    """The recorded signals, and their different entities."""
    lab = server.open_lab()
    try:
        with lab.storage.read() as connection:
            query = select(func.count(), func.count(signals.c.entity_id.distinct())).select_from(signals)
            count, entities = connection.execute(query).one()
        return count, entities
    finally:
        lab.close()


def send_through_kills(server: ForkedServer, query: str, chance: random.Random, *, kills: int, count: int) -> None:
    text, recorded = make_lines(count), [0]
    for _ in range(kills):
        send_and_kill(server, text, query, chance, recorded=recorded[-1])
        found, entities = count_signals(server)
        assert found == entities, "a signal was recorded twice"
        recorded.append(found)
    assert any(0 < found < count for found in recorded), "no kill came within the request"

    with server.start().client() as client:
        answer = send(client, text, query)
        assert answer is not None
        assert answer.json()["accepted"] == count
        server.stop()
    assert count_signals(server) == (count, count)
    lab = server.open_lab()
    try:
        assert len(read_events_of_type(lab, "risk.signal.created")) == (count if query == LIVE else 0)
        check_lab(lab)
    finally:
        lab.close()


def test_backfill_continues_after_kills(fork_server: ForkServer, tmp_path: Path, is_long: bool) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    kills, count = (KILLS_IN_SOAK, SIGNALS_IN_SOAK) if is_long else (KILLS, SIGNALS)
    send_through_kills(server, BACKFILL, random.Random("sqlite"), kills=kills, count=count)


def test_live_signals_continue_after_kills(fork_server: ForkServer, tmp_path: Path, is_long: bool) -> None:
    """Each signal publishes one event, however often its request is sent."""
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    kills, count = (KILLS_IN_SOAK, SIGNALS_IN_SOAK) if is_long else (KILLS, SIGNALS)
    send_through_kills(server, LIVE, random.Random("live"), kills=kills, count=count)


def test_backfill_into_postgresql_continues_after_kills(
    fork_server: ForkServer, tmp_path: Path, postgres_url: str, is_long: bool
) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", create_postgres_database(postgres_url))
    kills, count = (KILLS_IN_SOAK, SIGNALS_IN_SOAK) if is_long else (KILLS, SIGNALS)
    send_through_kills(server, BACKFILL, random.Random("postgresql"), kills=kills, count=count)
