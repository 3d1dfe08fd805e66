"""Worker processes: results, errors, limits, and how a job ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attestlab.core.errors import Cancelled, FieldError, NotFound, Unavailable, ValidationFailed
from attestlab.core.execution import worker_processes
from attestlab.core.execution.worker_processes import MAX_WAITING, WorkerProcesses
from support.fork_server import START_PROCESS

TIMEOUT_S = 120.0


@pytest.fixture
def started_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started as the product starts them, and not forked as in the other tests."""
    monkeypatch.setattr(worker_processes, "start_process", START_PROCESS)


@pytest.fixture
def workers() -> Iterator[WorkerProcesses]:
    made = WorkerProcesses(1)
    yield made
    made.close()


def run(workers: WorkerProcesses, function: object, *arguments: object, **options: object) -> object:
    return asyncio.run(workers.run("t", function, *arguments, **{"timeout_s": TIMEOUT_S, **options}))  # type: ignore[arg-type]


@pytest.mark.usefixtures("started_workers")
def test_function_runs_in_a_reused_low_priority_process(workers: WorkerProcesses) -> None:
    first, second = run(workers, os.getpid), run(workers, os.getpid)

    assert first == second != os.getpid()
    assert run(workers, os.getpriority, os.PRIO_PROCESS, 0) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)


@pytest.mark.parametrize(
    "error", [ValidationFailed("no", [FieldError("/a", "b", "c")]), NotFound("policy", "x"), Unavailable("later")]
)
def test_attestlab_error_is_returned_unchanged(workers: WorkerProcesses, error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        run(workers, raise_again, [type(error), error.__dict__, str(error)])

    assert raised.value.__dict__ == error.__dict__
    assert str(raised.value) == str(error)


def test_timeout_extends_when_processor_time_is_scarce(workers: WorkerProcesses) -> None:
    run(workers, os.getpid)

    assert run(workers, time.sleep, 1.5, timeout_s=1) is None


@pytest.mark.parametrize(("work", "argument"), [(sum, range(10**15)), (time.sleep, 600)], ids=["computes", "waits"])
def test_slow_job_is_killed_and_the_next_job_runs(workers: WorkerProcesses, work: object, argument: object) -> None:
    pid = run(workers, os.getpid)
    with pytest.raises(Unavailable, match=r"over 0\.2 s"):
        run(workers, work, argument, timeout_s=0.2)

    assert not Path(f"/proc/{pid}").exists()
    assert run(workers, os.getpid) != pid


def test_job_is_killed_when_its_client_disconnects(workers: WorkerProcesses) -> None:
    async def left() -> None:
        loop = asyncio.get_running_loop()
        await workers.run(
            "t", time.sleep, 600, timeout_s=TIMEOUT_S, on_disconnect=lambda call: loop.call_later(0.1, call)
        )

    with pytest.raises(Cancelled):
        asyncio.run(left())


def test_job_of_a_disconnected_client_is_not_started(workers: WorkerProcesses, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        run(workers, os.mkdir, tmp_path / "made", on_disconnect=lambda call: call())

    assert not (tmp_path / "made").exists()


def test_tenant_has_one_running_job_and_a_bounded_queue(tmp_path: Path) -> None:
    two, folder = WorkerProcesses(2), tmp_path / "only-one"

    async def crowd() -> list[object]:
        jobs = [two.run("t", alone_in, folder, timeout_s=TIMEOUT_S) for _ in range(MAX_WAITING + 1)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    found = asyncio.run(crowd())
    two.close()

    assert [type(each) for each in found] == [type(None)] * MAX_WAITING + [Unavailable]


@pytest.mark.usefixtures("started_workers")
def test_dead_process_is_unavailable(workers: WorkerProcesses) -> None:
    with pytest.raises(Unavailable, match="died"):
        run(workers, os._exit, 3)

    assert run(workers, os.getpid)


def raise_again(told: tuple[type[Exception], dict[str, object], str]) -> None:
    kind, members, message = told
    error = kind.__new__(kind, message)
    error.__dict__.update(members)
    raise error


def alone_in(folder: Path) -> None:
    folder.mkdir()  # fails where another job is at work
    time.sleep(0.005)
    folder.rmdir()


def test_process_that_grew_too_large_ends_after_its_job(workers: WorkerProcesses) -> None:
    first = run(workers, os.getpid)

    assert run(workers, hold, 600 << 20) == first
    assert run(workers, os.getpid) != first


_HELD = bytearray()


def hold(size: int) -> int:
    _HELD.extend(b"x" * size)
    return os.getpid()


def test_a_process_outlives_the_thread_that_started_it(workers: WorkerProcesses) -> None:
    """A signal at the parent's death would come at the death of that thread."""
    with ThreadPoolExecutor(1) as starter:
        first = starter.submit(workers.run_blocking, os.getpid, timeout_s=TIMEOUT_S).result()

    assert workers.run_blocking(os.getpid, timeout_s=TIMEOUT_S) == first


def test_concurrent_blocking_callers_share_the_processes(workers: WorkerProcesses) -> None:
    """A query of the lake may take a gigabyte, so the number of processes bounds the memory."""
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(workers.run_blocking, pid_after, 0.05, timeout_s=TIMEOUT_S) for _ in range(6)]
        pids = {each.result() for each in asked}

    assert len(pids) == 1


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def test_process_ends_with_its_server_during_a_job() -> None:
    code = (
        "import os, sys, threading, time\n"
        "from attestlab.core.execution.worker_processes import WorkerProcesses\n"
        "workers = WorkerProcesses(1)\n"
        "print(workers.run_blocking(os.getpid, timeout_s=60), flush=True)\n"
        "threading.Thread(target=workers.run_blocking, args=(time.sleep, 600), kwargs={'timeout_s': 600}).start()\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        server.kill()
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}/cmdline").exists() and time.monotonic() < until:
        time.sleep(0.05)

    assert not Path(f"/proc/{pid}/cmdline").exists()
