"""The memory of a server's child processes is reported, and idle ones end sooner when memory is short."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from attestlab.core.execution import process_memory
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.installation import Installation
from attestlab.server.memory_watch import MemoryWatch, list_pools
from attestlab.settings import Settings
from support import patient_http
from support.in_process_server import wait_until
from support.processes import watch_process
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

TIMEOUT_S = float(WAIT_TIMEOUT_S)
POOLS = {"queries", "policies", "risk_simulations", "media_scans", "long_writes"}
METRIC = "attestlab_child_processes_memory_bytes"


@pytest.fixture
def workers() -> Iterator[WorkerProcesses]:
    made = WorkerProcesses(1)
    yield made
    made.close()


def set_short(monkeypatch: pytest.MonkeyPatch, *, is_short: bool) -> None:
    monkeypatch.setattr(process_memory, "MIN_AVAILABLE_SHARE", 2 if is_short else -1)


def wait_for(begun: Path, release: Path) -> int:
    begun.touch()
    while not release.exists():
        time.sleep(0.005)
    return os.getpid()


def test_an_idle_process_ends_when_memory_is_short(workers: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: dict[str, int] = {}
    watch = MemoryWatch({"queries": workers}, reported.__setitem__, idle_if_short_s=0)
    with watch_process(workers.run_blocking(os.getpid, timeout_s=TIMEOUT_S)) as process:
        set_short(monkeypatch, is_short=False)
        watch.look()
        assert (process.has_ended(), reported["queries"] > 1 << 20) == (False, True)

        set_short(monkeypatch, is_short=True)
        watch.look()
        assert (process.has_ended(), reported) == (True, {"queries": 0})
    assert workers.run_blocking(abs, -1, timeout_s=TIMEOUT_S) == 1


def test_a_process_that_was_used_lately_stays(workers: WorkerProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = workers.run_blocking(os.getpid, timeout_s=TIMEOUT_S)
    set_short(monkeypatch, is_short=True)
    MemoryWatch({"queries": workers}, lambda work, size: None, idle_if_short_s=600).look()

    assert workers.run_blocking(os.getpid, timeout_s=TIMEOUT_S) == pid


def test_a_process_at_work_stays_and_is_reported(
    workers: WorkerProcesses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reported: dict[str, int] = {}
    set_short(monkeypatch, is_short=True)
    begun, release = tmp_path / "begun", tmp_path / "release"
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(workers.run_blocking, wait_for, begun, release, timeout_s=TIMEOUT_S)
        wait_until(begun.exists, True)
        MemoryWatch({"queries": workers}, reported.__setitem__, idle_if_short_s=0).look()
        release.touch()

    assert reported["queries"] > 1 << 20
    assert job.result() == workers.run_blocking(os.getpid, timeout_s=TIMEOUT_S)


def list_all_pools() -> list[WorkerProcesses]:
    return [each for each in gc.get_objects() if isinstance(each, WorkerProcesses)]


def test_every_pool_of_an_installation_is_watched(tmp_path: Path) -> None:
    before = list_all_pools()
    lab, _ = Installation.init(Settings(data=tmp_path, database_url=None))
    made = [pool for pool in list_all_pools() if pool not in before]
    lab.close()

    assert {*map(id, list_pools(lab).values())} == {*map(id, made)}


def read_reported_work(client: httpx.Client) -> set[str]:
    families = text_string_to_metric_families(client.get("/metrics").raise_for_status().text)
    return {sample.labels["work"] for family in families for sample in family.samples if sample.name == METRIC}


def test_a_server_reports_the_memory_of_each_pool(running: ServerProcess) -> None:
    with patient_http.open_client(base_url=running.url) as client:
        wait_until(lambda: read_reported_work(client), POOLS)
