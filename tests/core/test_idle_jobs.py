"""A job that holds a process and does nothing ends while another tenant waits; no other job does."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attestlab.core.errors import Unavailable
from attestlab.core.execution.job_watch import IdleLimits
from attestlab.core.execution.waiting_jobs import Share, WaitingJobs
from attestlab.core.execution.worker_processes import WorkerProcesses
from support.timeouts import WAIT_TIMEOUT_S

TIMEOUT_S = float(WAIT_TIMEOUT_S)
LIMITS = IdleLimits(window_s=0.5, min_processor_s=0.02)


@pytest.fixture
def one() -> Iterator[WorkerProcesses]:
    made = WorkerProcesses(1, idle_limits=LIMITS)
    yield made
    made.close()


def compute(processor_s: float) -> float:
    end = time.process_time() + processor_s
    while time.process_time() < end:
        pass
    return processor_s


def yield_pieces(count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield bytes(1 << 20)


async def run_while_waited_for(workers: WorkerProcesses, tenant: str, function: object, *arguments: object) -> object:
    """Run the job of one tenant, while a job of another waits for its process; return the error or the result."""
    held = asyncio.create_task(workers.run(tenant, function, *arguments, timeout_s=TIMEOUT_S))  # type: ignore[arg-type]
    await asyncio.sleep(0.05)
    await workers.run("other", os.getpid, timeout_s=TIMEOUT_S)
    return (await asyncio.gather(held, return_exceptions=True))[0]


def test_an_idle_job_ends_while_another_tenant_waits(one: WorkerProcesses) -> None:
    error = asyncio.run(run_while_waited_for(one, "sleeper", time.sleep, 600))

    assert isinstance(error, Unavailable)
    assert "under 0.02 s of processor time in 0.5 s while another tenant waited" in str(error)
    assert "Retry, or request less data at once." in str(error)


def test_a_job_that_computes_keeps_its_process(one: WorkerProcesses) -> None:
    assert asyncio.run(run_while_waited_for(one, "analyst", compute, 1.5)) == 1.5


def test_an_idle_job_stays_while_its_own_tenant_waits(one: WorkerProcesses) -> None:
    assert asyncio.run(run_while_waited_for(one, "other", time.sleep, 2)) is None


def test_a_job_that_no_tenant_waits_for_stays(one: WorkerProcesses) -> None:
    assert asyncio.run(one.run("sleeper", time.sleep, 2, timeout_s=TIMEOUT_S)) is None


async def read_while_waited_for(workers: WorkerProcesses, *, pause_s: float, slices: int) -> int:
    """Take slices of a stream, each after a pause, while a job of another tenant waits; return their bytes."""
    stream = workers.stream("reader", yield_pieces, 100, timeout_s=TIMEOUT_S)
    count = len(await anext(stream))
    waiting = asyncio.create_task(workers.run("other", os.getpid, timeout_s=TIMEOUT_S))
    try:
        for _ in range(slices):
            await asyncio.sleep(pause_s)
            count += len(await anext(stream))
    finally:
        await stream.aclose()
        await waiting
    return count


def test_a_slow_reader_ends_while_another_tenant_waits(one: WorkerProcesses) -> None:
    with pytest.raises(Unavailable, match=r"read under 32 KiB/s in 0\.5 s while another tenant waited\. Read faster"):
        asyncio.run(read_while_waited_for(one, pause_s=3.0, slices=20))


def test_a_steady_reader_of_a_waiting_process_stays(one: WorkerProcesses) -> None:
    """The process computes nothing while its reader has not taken what it made."""
    assert asyncio.run(read_while_waited_for(one, pause_s=0.1, slices=20)) == 21 * (64 << 10)


def begin_and_wait_for(begun: Path, release: Path) -> None:
    begun.touch()
    while not release.exists():
        time.sleep(0.005)


def test_a_share_leaves_a_process_to_the_others(tmp_path: Path) -> None:
    """Five tenants of a share of two have two jobs at once, one each; who has no share does not wait."""
    three, share, release = WorkerProcesses(3, of_a_tenant=2), Share("few", 1, 2), tmp_path / "release"

    async def crowd() -> set[str]:
        jobs = [
            three.run(tenant, begin_and_wait_for, tmp_path / f"{tenant}{n}", release, timeout_s=TIMEOUT_S, share=share)
            for tenant in "abcde"
            for n in range(2)
        ]
        tasks = [asyncio.create_task(job) for job in jobs]
        while len(set(tmp_path.iterdir())) < 2:
            await asyncio.sleep(0.01)
        await three.run("z", os.getpid, timeout_s=TIMEOUT_S)
        begun = {path.name for path in tmp_path.iterdir()}
        release.touch()
        await asyncio.gather(*tasks)
        return begun

    begun = asyncio.run(crowd())
    three.close()

    assert begun == {"a0", "b0"}
    assert len(set(tmp_path.iterdir())) == 11


def test_who_waits_in_a_share_waits_for_its_jobs_alone() -> None:
    waiting, share = WaitingJobs(), Share("few", 1, 2)
    end = waiting.add("a", share)

    assert waiting.has_others("b", share)
    assert not waiting.has_others("b", None)
    assert not waiting.has_others("a", share)
    end()
    end()
    assert not waiting.has_others("b", share)
