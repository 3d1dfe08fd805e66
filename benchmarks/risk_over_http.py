"""`risk.*`: risk signals, bulk, velocity and a backfill over real HTTP, against the floor where it has the same work.

BENCH_ENTITIES is the number of entities with recent actions (1,000,000 by default), and
BENCH_BACKFILL the number of signals of the backfill that runs next to traffic (200,000).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import httpx

from attestlab.core.clock import SystemClock
from attestlab.installation import Installation
from attestlab.lake.store import get_operator_id
from attestlab.risk.velocity import VelocityEventRecord, occurrences, to_microseconds
from attestlab.settings import Settings
from benchmarks import servers, world
from benchmarks.figures import Figure
from benchmarks.load import Load, Plan, format_request, run_load
from benchmarks.servers import Server
from benchmarks.world import ServedInstallation

ENTITIES = int(os.environ.get("BENCH_ENTITIES", "1000000"))
BACKFILL = int(os.environ.get("BENCH_BACKFILL", "200000"))
BULK_LINES = 50_000
ROUNDS = 5
SECONDS = 2.0
WARMUP_S = 0.5
FLOOR = "benchmarks/floor.py"
_ROWS_PER_WRITE = 20_000


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures; the servers write to `folder`."""
    (folder / "floor").mkdir()
    with (
        servers.run_floor(folder / "floor") as floor,
        world.serve_installation(folder / "data", before=partial(add_entities, count=ENTITIES)) as ours,
    ):
        yield from _measure_signals(ours, floor)
        yield from _measure_velocity(ours)
        yield from _measure_bulk(ours)
        yield from measure_backfill("risk", ours)
        yield Figure("risk.server_memory", _read_memory_mib(ours.server), "MiB")


def add_entities(data: Path, *, count: int) -> None:
    """Record one action of each of `count` users, spread over the last day."""
    lab = Installation.open(Settings(data=data, database_url=None))
    now, random = to_microseconds(SystemClock().now()), Random(7)
    with lab.storage.read() as connection:
        tenant = get_operator_id(connection)
    for start in range(0, count, _ROWS_PER_WRITE):
        with lab.storage.write() as tx:
            for number in range(start, min(count, start + _ROWS_PER_WRITE)):
                at = now - random.randrange(86_400_000_000)
                tx.add(occurrences, VelocityEventRecord(tenant, "user", f"user-{number}", "login", at, number))
    lab.close()


def _measure_signals(ours: ServedInstallation, floor: Server) -> Iterator[Figure]:
    """Measure single signals with 64 and 8 connections, in turn with the floor's durable rows without a signature."""
    bodies = [build_signal("user", f"user-{number}") for number in range(2_000)]
    requests = [_with_key(ours, "/v1/risk/signals", body) for body in bodies]
    bare = [format_request("POST", "/record", body) for body in bodies]
    for connections in (64, 8):
        loads: tuple[list[Load], list[Load]] = ([], [])
        for _ in range(ROUNDS):
            for server, sent, kept in ((ours.server, requests, loads[0]), (floor, bare, loads[1])):
                kept.append(_load(server, sent, connections))
        shares = [a.per_second / b.per_second for a, b in zip(*loads, strict=True)]
        yield Figure.of_rounds(f"risk.signal_ratio_{connections}", shares, "ratio", against=FLOOR)
        for name, side in zip(("signals", "floor"), loads, strict=True):
            yield Figure.of_rounds(f"risk.{name}_per_s_{connections}", [each.per_second for each in side], "1/s")


def _measure_velocity(ours: ServedInstallation) -> Iterator[Figure]:
    """Measure velocity updates of entities that have a past."""
    random = Random(11)
    bodies = [
        {"entity_type": "user", "entity_id": f"user-{random.randrange(ENTITIES)}", "action": "login"}
        for _ in range(20_000)
    ]
    requests = [_with_key(ours, "/v1/risk/velocity/record", body) for body in bodies]
    for connections in (1, 8):
        loads = [_load(ours.server, requests, connections, status=200) for _ in range(ROUNDS)]
        for share in ("p50_ms", "p99_ms"):
            rounds = [getattr(each, share) for each in loads]
            yield Figure.of_rounds(f"risk.velocity_{share}_{connections}", rounds, "ms")
        yield Figure.of_rounds(f"risk.velocity_per_s_{connections}", [each.per_second for each in loads], "1/s")


def _measure_bulk(ours: ServedInstallation) -> Iterator[Figure]:
    """Measure bulk requests, one after another."""
    rates, cpu_us = [], []
    for number in range(ROUNDS):
        used, begin = ours.server.cpu_s(), perf_counter()
        send_bulk(ours.client, BULK_LINES, first=number * BULK_LINES)
        rates.append(BULK_LINES / (perf_counter() - begin))
        cpu_us.append(1e6 * (ours.server.cpu_s() - used) / BULK_LINES)
    yield Figure.of_rounds("risk.bulk_per_s", rates, "1/s")
    yield Figure.of_rounds("risk.bulk_cpu_us", cpu_us, "us")


@dataclass
class _Backfill:
    """A backfill in its own thread."""

    server: ServedInstallation
    signals_per_s: float = 0.0

    def run(self) -> None:
        begin = perf_counter()
        for start in range(0, BACKFILL, BULK_LINES):
            send_bulk(self.server.client, BULK_LINES, first=10_000_000 + start, backfill="true")
        self.signals_per_s = BACKFILL / (perf_counter() - begin)


def measure_backfill(group: str, ours: ServedInstallation) -> Iterator[Figure]:
    """Yield the figures of mints with eight connections, alone and next to a backfill."""
    requests = [ours.build_mint_request()]
    alone = [_load(ours.server, requests, 8) for _ in range(ROUNDS)]
    backfill = _Backfill(ours)
    thread = threading.Thread(target=backfill.run)
    thread.start()
    at_the_same_time = []
    while thread.is_alive():
        at_the_same_time.append(_load(ours.server, requests, 8))
    thread.join()
    middle = sorted(each.per_second for each in alone)[ROUNDS // 2]
    shares = [each.per_second / middle for each in at_the_same_time[: max(1, len(at_the_same_time) - 1)]]
    yield Figure.of_rounds(
        f"{group}.mint_next_to_backfill_ratio", shares, "ratio", against="the same without a backfill"
    )
    yield Figure.of_rounds(f"{group}.mint_p99_ms_next_to_backfill", [each.p99_ms for each in at_the_same_time], "ms")
    yield Figure.of_rounds(f"{group}.mint_p99_ms_alone", [each.p99_ms for each in alone], "ms")
    yield Figure(f"{group}.backfill_per_s", round(backfill.signals_per_s), "1/s")


def build_signal(entity_type: str, entity_id: str) -> dict[str, Any]:
    """Return the body of a signal about an entity, with some details."""
    details = {"rule": "velocity-burst", "window_s": 300}
    return {
        **{"source": "bench", "signal_type": "behavior", "score": 12.5},
        **{"entity_type": entity_type, "entity_id": entity_id, "details": details},
    }


def send_bulk(client: httpx.Client, count: int, *, first: int, key: str | None = None, **query: str) -> None:
    """Send signals of `count` users in one bulk request, with an Idempotency-Key if one is given.

    Raises:
        RuntimeError: not every line was accepted.
    """
    lines = "".join(json.dumps(build_signal("user", f"bulk-{number}")) + "\n" for number in range(first, first + count))
    answer = client.post(
        "/v1/risk/signals/bulk",
        params=query,
        content=lines,
        headers={"Content-Type": "application/x-ndjson", **({} if key is None else {"Idempotency-Key": key})},
        timeout=600,
    )
    if answer.raise_for_status().json()["accepted"] != count:
        raise RuntimeError(f"The server did not accept every line: {answer.text[:200]}")


def _with_key(ours: ServedInstallation, path: str, body: dict[str, Any]) -> str:
    return format_request("POST", path, body, X_API_Key=ours.api_key)


def _load(server: Server, requests: list[str], connections: int, *, status: int = 201) -> Load:
    return run_load(Plan(server.port, connections, SECONDS, WARMUP_S, status, requests))


def _read_memory_mib(server: Server) -> float:
    status = Path(f"/proc/{server.pid}/status").read_text()
    return round(int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024)
