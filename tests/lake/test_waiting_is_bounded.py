"""Slow readers hold the lake's processes for seconds at most while another tenant waits, and FREE tenants hold two."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager
from urllib.parse import urlsplit

import pytest

from attestlab.core.execution.job_watch import IdleLimits
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.installation import Installation
from attestlab.lake import jobs
from attestlab.lake.rules import (
    MAX_QUERY_S,
    QUERIES_OF_A_TENANT,
    QUERY_PROCESSES,
    QUERY_TIMEOUT_S,
    ClientQuery,
    RowFormat,
    allow_queries,
)
from attestlab.orgs.rules import Plan
from support.in_process_server import wait_until
from support.orgs import TenantClients, create_api_key

LONG = "select range, repeat('x', 1000) from range(10000000)"
MAX_DELAY_S = 10.0


@contextmanager
def open_stream(clients: TenantClients, plan: Plan) -> Iterator[socket.socket]:
    """Request ten gigabytes as a new tenant, and read nothing."""
    tenant, place = clients.lab.orgs.create_tenant("Slow", plan=plan), urlsplit(clients.url)
    secret, body = create_api_key(clients.lab, tenant), json.dumps({"sql": LONG}).encode()
    head = (
        f"POST /v1/lake/query HTTP/1.1\r\nHost: x\r\nX-API-Key: {secret}\r\nContent-Type: application/json\r\n"
        f"Accept: application/vnd.apache.arrow.stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.connect((place.hostname, place.port))
        client.sendall(head.encode() + body)
        yield client


def has_begun(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def measure_delay(clients: TenantClients) -> float:
    """Return how long another tenant waits for the rows of `select 1`."""
    begun = time.monotonic()
    with clients.with_key() as key:
        assert key.post("/v1/lake/query", json={"sql": "select 1"}).json()["rows"] == [[1]]
    return time.monotonic() - begun


def use_workers(lab: Installation, idle_limits: IdleLimits) -> None:
    lab.lake.workers.close()
    lab.lake.workers = WorkerProcesses(QUERY_PROCESSES, of_a_tenant=QUERIES_OF_A_TENANT, idle_limits=idle_limits)


def test_slow_readers_of_free_tenants_leave_a_process(tenant_clients: TenantClients) -> None:
    """No job of theirs ends: the third process is never theirs."""
    use_workers(tenant_clients.lab, IdleLimits(window_s=600))
    with ExitStack() as streams:
        clients = [streams.enter_context(open_stream(tenant_clients, Plan.FREE)) for _ in range(5)]
        wait_until(lambda: sum(map(has_begun, clients)), 2)
        measure_delay(tenant_clients)

        assert sum(map(has_begun, clients)) == 2


def test_slow_readers_make_room_for_another_tenant(tenant_clients: TenantClients) -> None:
    use_workers(tenant_clients.lab, IdleLimits(window_s=0.5))
    with ExitStack() as streams:
        clients = [streams.enter_context(open_stream(tenant_clients, Plan.STARTER)) for _ in range(QUERY_PROCESSES)]
        wait_until(lambda: sum(map(has_begun, clients)), QUERY_PROCESSES)

        assert measure_delay(tenant_clients) > 0


def test_the_time_of_a_query_depends_on_the_plan() -> None:
    assert [allow_queries(plan).timeout_s for plan in Plan] == [10.0, 60.0, 60.0, 60.0]
    assert allow_queries("FREE").share == ("FREE", 1, 2)
    assert allow_queries("ENTERPRISE").share is None


@pytest.mark.soak
def test_sleepers_and_slow_readers_delay_another_plan_by_ten_seconds(lab: Installation) -> None:
    """Five FREE tenants: the jobs of two sleep, three read nothing. The limits are as served."""
    workers, allowance = lab.lake.workers, allow_queries(Plan.FREE)
    caller = lab.orgs.service_caller(lab.orgs.create_tenant("Slow", plan=Plan.FREE).tenant_id)
    limits = {"timeout_s": allowance.timeout_s, "elapsed_s": MAX_QUERY_S, "share": allowance.share}

    async def sleep(tenant: str) -> None:
        await workers.run(tenant, time.sleep, 300, **limits)

    async def read_nothing(tenant: str) -> None:
        query = ClientQuery(LONG, None, RowFormat.ARROW)
        stream = workers.stream(tenant, jobs.stream_query, lab.lake.locate(caller), query, frozenset(), **limits)
        async with aclosing(stream):
            await anext(stream)
            await asyncio.sleep(300)

    async def measure_delays() -> list[float]:
        slow = [asyncio.create_task(job) for job in (sleep("a"), read_nothing("b"), sleep("c"), read_nothing("d"))]
        slow.append(asyncio.create_task(read_nothing("e")))
        delays = []
        for _ in range(30):
            begun = time.monotonic()
            await workers.run("other", jobs.load_libraries, timeout_s=QUERY_TIMEOUT_S)
            delays.append(time.monotonic() - begun)
            await asyncio.sleep(1)
        assert slow[0].done()  # a sleeper made room for another FREE tenant
        for task in slow:
            task.cancel()
        await asyncio.wait(slow)
        return delays

    assert max(asyncio.run(measure_delays())) <= MAX_DELAY_S
