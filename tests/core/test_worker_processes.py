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
from attestlab.core.execution import job_watch, worker_processes
from attestlab.core.execution.job_pieces import MAX_PIECES_AHEAD
from attestlab.core.execution.worker_processes import MAX_WAITING, WorkerProcesses
from support.fork_server import START_PROCESS
from support.in_process_server import wait_until
from support.processes import WatchedProcess, watch_process
from support.timeouts import WAIT_TIMEOUT_S

TIMEOUT_S = float(WAIT_TIMEOUT_S)


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


def test_timeout_extends_when_processor_time_is_scarce(
    workers: WorkerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_processes, "MAX_SLOWDOWN", TIMEOUT_S)
    run(workers, os.getpid)

    assert run(workers, time.sleep, 1.5, timeout_s=1) is None


@pytest.mark.parametrize(("work", "argument"), [(sum, range(10**15)), (time.sleep, 600)], ids=["computes", "waits"])
def test_slow_job_is_killed_and_the_next_job_runs(workers: WorkerProcesses, work: object, argument: object) -> None:
    with watch_process(run(workers, os.getpid)) as process:
        with pytest.raises(Unavailable, match=r"over 0\.2 s"):
            run(workers, work, argument, timeout_s=0.2)

        assert process.has_ended()
    assert run(workers, abs, -1) == 1


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


def test_tenant_has_as_many_running_jobs_as_the_pool_allows_and_others_do_not_wait(tmp_path: Path) -> None:
    three, release = WorkerProcesses(3, of_a_tenant=2), tmp_path / "release"

    async def crowd() -> tuple[list[str], list[str]]:
        jobs = [
            asyncio.create_task(
                three.run(tenant, begin_and_wait_for, tmp_path / f"{tenant}{n}", release, timeout_s=TIMEOUT_S)
            )
            for n, tenant in enumerate(["a", "a", "a", "b"])
        ]
        while len(begun := sorted(path.name for path in tmp_path.iterdir())) < 3:
            await asyncio.sleep(0.01)
        release.touch()
        await asyncio.gather(*jobs)
        return begun, sorted(path.name for path in tmp_path.iterdir())

    begun, done = asyncio.run(crowd())
    three.close()

    assert begun == ["a0", "a1", "b3"]
    assert done == ["a0", "a1", "a2", "b3", "release"]


@pytest.mark.usefixtures("started_workers")
def test_dead_process_is_unavailable(workers: WorkerProcesses) -> None:
    with pytest.raises(Unavailable, match="died"):
        run(workers, os._exit, 3)

    assert run(workers, os.getpid)


def raise_again(described: tuple[type[Exception], dict[str, object], str]) -> None:
    kind, members, message = described
    error = kind.__new__(kind, message)
    error.__dict__.update(members)
    raise error


def alone_in(folder: Path) -> None:
    folder.mkdir()  # fails where another job is at work
    time.sleep(0.005)
    folder.rmdir()


def begin_and_wait_for(begun: Path, release: Path) -> None:
    begun.touch()
    while not release.exists():
        time.sleep(0.005)


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


def test_process_ends_with_its_server_during_a_job(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    work = f"__import__('pathlib').Path({str(begun)!r}).touch(), __import__('time').sleep(600)"
    code = (
        "import os, threading, time\n"
        "from attestlab.core.execution.worker_processes import WorkerProcesses\n"
        "workers = WorkerProcesses(1)\n"
        "print(workers.run_blocking(os.getpid, timeout_s=600), flush=True)\n"
        f"job = {{'args': (eval, {work!r}), 'kwargs': {{'timeout_s': 600}}}}\n"
        "threading.Thread(target=workers.run_blocking, **job).start()\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        with watch_process(int(server.stdout.readline())) as process:
            wait_until(begun.exists, True)
            server.kill()
            wait_until(process.has_ended, True)


def yield_pieces(count: int, length: int) -> Iterator[bytes]:
    for number in range(count):
        yield bytes([number % 256]) * length


def yield_then_fail() -> Iterator[bytes]:
    yield b"first"
    raise ValidationFailed("no more")


def yield_then_wait() -> Iterator[bytes]:
    yield b"first"
    time.sleep(600)


def test_stream_yields_every_piece_in_order(workers: WorkerProcesses) -> None:
    async def read() -> list[bytes]:
        return [piece async for piece in workers.stream("t", yield_pieces, 50, 100_000, timeout_s=TIMEOUT_S)]

    assert b"".join(asyncio.run(read())) == b"".join(yield_pieces(50, 100_000))
    assert run(workers, len, "next") == 4


def test_stream_reports_an_error_after_its_pieces(workers: WorkerProcesses) -> None:
    async def read(pieces: list[bytes]) -> None:
        async for piece in workers.stream("t", yield_then_fail, timeout_s=TIMEOUT_S):
            pieces.append(piece)

    read_pieces: list[bytes] = []
    with pytest.raises(ValidationFailed, match="no more"):
        asyncio.run(read(read_pieces))
    assert read_pieces == [b"first"]


def test_closing_a_stream_kills_its_process(workers: WorkerProcesses) -> None:
    pid = run(workers, os.getpid)

    async def leave() -> None:
        stream = workers.stream("t", yield_then_wait, timeout_s=TIMEOUT_S)
        assert await anext(stream) == b"first"
        await stream.aclose()

    asyncio.run(leave())
    assert run(workers, os.getpid) != pid


def test_slow_reader_of_a_stream_holds_few_pieces_and_ends_in_time(
    workers: WorkerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is over when the test says so: after the first piece, however long that takes to come."""
    elapsed_s = 0.0
    monkeypatch.setattr(job_watch, "monotonic", lambda: elapsed_s)

    async def read(process: WatchedProcess) -> int:
        nonlocal elapsed_s
        stream, count = workers.stream("t", yield_pieces, 1_000, 1 << 16, timeout_s=1), 0
        await anext(stream)
        elapsed_s = worker_processes.MAX_SLOWDOWN
        while not process.has_ended():
            await asyncio.sleep(0.01)
        with pytest.raises(Unavailable, match=r"over 1 s"):
            async for _ in stream:
                count += 1
        return count

    with watch_process(run(workers, os.getpid)) as process:
        read_afterwards = asyncio.run(asyncio.wait_for(read(process), TIMEOUT_S))
    # One more may have waited for room, and one more may have been whole in the pipe when the process ended.
    assert read_afterwards <= MAX_PIECES_AHEAD + 2
