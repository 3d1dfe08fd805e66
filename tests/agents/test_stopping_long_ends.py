"""SIGTERM during the end of a large tree: the server stops in time, and the tree is whole."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from attestlab.agents import store
from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.shapes import AgentIn
from attestlab.core.execution.long_verbs import MAX_ROWS_INSIDE
from attestlab.installation import Installation
from support.agents import AGENTS
from support.in_process_server import wait_until
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

WHY = {"reason": "it probes"}
WITH_OWN_WORKERS = "worker_processes.start_process = START_PROCESS; cli.main()"  # of the fork server's module


@pytest.mark.both_engines
def test_a_server_stops_in_time_and_undoes_the_kill_of_a_large_tree(server: ServerProcess) -> None:
    server.stop()
    root = make_large_tree(server)
    server.host = ("code", WITH_OWN_WORKERS)
    with server.start(), server.client() as client, ThreadPoolExecutor(1) as pool:
        counted = client.post(f"{AGENTS}/{root}/kill", json={**WHY, "dry_run": True}).raise_for_status().json()
        wait_until(lambda: len(list_workers(server)), 1)
        (worker,) = list_workers(server)
        with stopped(worker):
            killed = pool.submit(try_to_kill, client, root)
            wait_until(lambda: has_work(worker), True)
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            code = server.process.wait()  # its own bound is under the two minutes that the write may take
            answer = killed.result(WAIT_TIMEOUT_S)

    assert counted["revoked_descendants"] == MAX_ROWS_INSIDE + 1
    assert code == 0, server.errors()
    assert answer in (None, 503)
    with opened(server) as lab, lab.storage.read() as connection:
        below = store.list_descendant_ids(connection.execute, root)
        found = store.find(connection.execute, root)
    assert (found is not None and found.status, len(below)) == ("active", MAX_ROWS_INSIDE + 1)


def make_large_tree(server: ServerProcess) -> UUID:
    """A root that delegated to more agents than end inside the server; returns the root's id."""
    with opened(server) as lab:
        caller, agents, delegations = lab.operator_caller(), lab.agents.registry, lab.agents.delegations
        body = DelegationIn(scopes=["docs:read"], child=AgentIn(display_name="Worker"))
        with lab.storage.write() as tx:
            prepared = agents.prepare(AgentIn(display_name="Root", scopes=["docs:read"]))
            root = agents.add(prepared, caller=caller, tx=tx)
            for _ in range(MAX_ROWS_INSIDE + 1):
                child = delegations.prepare(body)
                delegations.delegate(root.row.id, body, prepared=child, caller=caller, tx=tx)
    return root.row.id


@contextmanager
def opened(server: ServerProcess) -> Iterator[Installation]:
    lab = server.open_lab()
    try:
        yield lab
    finally:
        lab.close()


def try_to_kill(client: httpx.Client, root: UUID) -> int | None:
    """The status of the answer, or None if the server closes the connection without one."""
    try:
        return client.post(f"{AGENTS}/{root}/kill", json=WHY).status_code
    except httpx.RemoteProtocolError:
        return None


def list_workers(server: ServerProcess) -> list[int]:
    """The child processes of the server that run its work."""
    assert server.process is not None
    lists = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    pids = [int(pid) for each in lists for pid in each.read_text().split()]
    return [pid for pid in pids if b"worker_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that does not run in the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def has_work(pid: int) -> bool:
    """Whether a stopped process has a job in its stdin."""
    pipe = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return bool(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0])
    finally:
        os.close(pipe)
