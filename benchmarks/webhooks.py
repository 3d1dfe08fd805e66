"""`webhooks.*`: deliveries that are due, drained by a worker, against a bare loop of the same HTTP client.

The bare loop posts the same bodies to the same receiver with as many requests at once, in the same process and run;
it signs nothing and records nothing. BENCH_DELIVERIES is the number of due deliveries (100,000 by default).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import UUID

from sqlalchemy import func, select

from attestlab.core.clock import SystemClock
from attestlab.core.crypto.canonical_json import canonical_trusted
from attestlab.core.records import outbox
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.protections.events import ContentProtected
from attestlab.server.write_queue import WriteQueue
from attestlab.settings import Settings
from attestlab.web.delivery_worker import DeliveryWorker
from attestlab.webhooks import delivery_store
from attestlab.webhooks.http_transport import HttpTransport, OutgoingRequest
from attestlab.webhooks.signatures import new_secret, sign_headers
from benchmarks import servers
from benchmarks.figures import Figure

DELIVERIES = int(os.environ.get("BENCH_DELIVERIES", "100000"))
TENANTS = 16
ENDPOINTS_OF_TENANT = 4  # 64 endpoints with 8 requests at once each: 512 in all
BARE_REQUESTS = 10_000
ROUNDS = 5
PROBES = 50
POLL_S = 0.05
_EVENTS_PER_WRITE = 1_000


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the throughput of the drain in rounds, its ratio to the bare loop, its memory, and the cost of a look."""
    with servers.start_server([sys.executable, "-m", "benchmarks.webhook_receiver"]) as receiver:
        settings = Settings(data=folder / "data", webhook_allow_private=True)
        lab, _ = Installation.init(settings, clock=SystemClock())
        try:
            prepare_deliveries(lab, receiver.url, count=DELIVERIES)
            looks = [_time_look(lab) for _ in range(PROBES)]
            drain = asyncio.run(_run(lab, receiver.url))
        finally:
            lab.close()
    yield Figure.of_rounds("webhooks.find_due_ms", [1_000 * look for look in looks], "ms")
    yield Figure.of_rounds("webhooks.ratio", drain.ratios, "ratio", against="a bare loop of the same HTTP client")
    yield Figure.of_rounds("webhooks.delivered_per_s", drain.delivered_per_s, "1/s")
    yield Figure.of_rounds("webhooks.bare_per_s", drain.bare_per_s, "1/s")
    for name, memory in zip(("start", "middle", "end"), drain.memory_mib, strict=True):
        yield Figure(f"webhooks.rss_{name}", round(memory, 1), "MiB")


@dataclass
class Drain:
    """The measurements of a drain; each round is a part of the deliveries, with a bare loop before it."""

    delivered_per_s: list[float]
    bare_per_s: list[float]
    memory_mib: list[float]

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round."""
        return [ours / bare for ours, bare in zip(self.delivered_per_s, self.bare_per_s, strict=True)]


def prepare_deliveries(lab: Installation, url: str, *, count: int) -> None:
    """Publish events of several tenants with several endpoints each, and dispatch them."""
    callers = [
        lab.orgs.service_caller(lab.orgs.create_tenant(f"Tenant {number}", plan=Plan.ENTERPRISE).tenant_id)
        for number in range(TENANTS)
    ]
    for caller in callers:
        for number in range(ENDPOINTS_OF_TENANT):
            lab.webhooks.create("Receiver", f"{url}/{number}", [ContentProtected.type], caller=caller)
    events = count // ENDPOINTS_OF_TENANT
    for start in range(0, events, _EVENTS_PER_WRITE):
        with lab.storage.write() as tx:
            for number in range(start, min(events, start + _EVENTS_PER_WRITE)):
                now = lab.clock.now()
                tenant_id = callers[number % TENANTS].tenant_id
                one = UUID(int=number)
                event = ContentProtected(protection_id=one, attestation_id=one, visibility="public", protected_at=now)
                outbox.publish(tx, tenant_id, event, at=now)
    while lab.webhook_deliveries.dispatcher.has_new():
        with lab.storage.write() as tx:
            lab.webhook_deliveries.dispatcher.dispatch(tx)


def _time_look(lab: Installation) -> float:
    began = perf_counter()
    found = lab.webhook_deliveries.queue.find_due((), at_most=128)
    took_s = perf_counter() - began
    if len(found) != 128:
        raise RuntimeError(f"{len(found)} deliveries were found due.")
    return took_s


async def _run(lab: Installation, url: str) -> Drain:
    """Alternate between bare loops and parts of the drain."""
    drain = Drain([], [], [_read_memory_mib()])
    for number in range(ROUNDS):
        drain.bare_per_s.append(await _measure_bare(url))
        drain.delivered_per_s.append(await _measure_drain(lab, remaining=DELIVERIES * (ROUNDS - 1 - number) // ROUNDS))
        if number == ROUNDS // 2:
            drain.memory_mib.append(_read_memory_mib())
    drain.memory_mib.append(_read_memory_mib())
    await lab.webhook_deliveries.transport.close()
    return drain


async def _measure_drain(lab: Installation, *, remaining: int) -> float:
    """Let a worker deliver until `remaining` deliveries are left; return the deliveries per second."""
    write_queue, before = WriteQueue(lab), _count_open(lab)
    worker = DeliveryWorker(lab.webhook_deliveries.queue, write=write_queue.write)
    began = perf_counter()
    worker.start(write_queue.background)
    while (left := await asyncio.to_thread(_count_open, lab)) > remaining:
        await asyncio.sleep(POLL_S)
    took_s = perf_counter() - began
    await worker.finish(within_s=30)
    await write_queue.finish()
    return (before - left) / took_s


async def _measure_bare(url: str) -> float:
    """Post the same bodies with as many requests at once, and nothing else; returns the requests per second."""
    transport = HttpTransport(allow_private=True)
    at, body = SystemClock().now(), _build_body()
    secret = new_secret()
    headers = sign_headers(
        event_id=str(UUID(int=0)), event_type=ContentProtected.type, body=body, secrets=[secret], at=at
    )
    remaining = iter(range(BARE_REQUESTS))

    async def post() -> None:
        for _ in remaining:
            await transport.send(OutgoingRequest(UUID(int=0), f"{url}/bare", headers, body))

    began = perf_counter()
    await asyncio.gather(*(post() for _ in range(8 * TENANTS * ENDPOINTS_OF_TENANT)))
    took_s = perf_counter() - began
    await transport.close()
    return BARE_REQUESTS / took_s


def _build_body() -> bytes:
    now = SystemClock().now()
    one = UUID(int=0)
    event = ContentProtected(protection_id=one, attestation_id=one, visibility="public", protected_at=now)
    return canonical_trusted(outbox.envelope(UUID(int=0), event.type, event.data(), now))


def _count_open(lab: Installation) -> int:
    table = delivery_store.deliveries
    with lab.storage.read() as connection:
        waiting = select(func.count()).where(table.c.next_attempt_at.is_not(None))
        count: int = connection.execute(waiting).scalar_one()
    return count


def _read_memory_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
