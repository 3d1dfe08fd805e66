"""Acceptor: connection limits, and a server without free file descriptors pauses instead of busy-looping."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_network
from pathlib import Path

import pytest

from attestlab.core.errors import Unavailable
from attestlab.web.http1.acceptor import (
    MIN_CONNECTIONS,
    SPARE_FILES,
    ConnectionLimits,
    ConnectionSlot,
    raise_file_limit,
)
from support import patient_http
from support.fork_server import ForkedProcess, get_fork_server
from support.in_process_server import wait_until
from support.raw_http import get_request
from support.sample_application import serve_sample_application
from support.timeouts import WAIT_TIMEOUT_S

BUSY_S, ROUNDS = 0.4, 3
MAX_LINES = 20  # one a minute is logged; without the pause, thousands in a second


def test_connections_per_address_are_limited_and_a_proxy_is_exempt() -> None:
    room = ConnectionLimits(total=9, per_address=2, exempt=[ip_network("10.0.0.0/8")])

    def enter(address: str, times: int) -> list[ConnectionSlot | None]:
        return [room.try_acquire(address) for _ in range(times)]

    first, second = enter("2001:db8::1", 2)
    assert first is not None
    assert second is not None
    assert enter("2001:db8::2", 1) == [None]  # the same /64
    assert None not in [*enter("2001:db8:0:1::1", 1), *enter("10.0.0.1", 6)]
    assert room.is_full
    first.release()
    assert (room.is_full, [slot is not None for slot in enter("2001:db8::2", 2)]) == (False, [True, False])


def test_an_open_websocket_counts_towards_the_total_alone() -> None:
    room = ConnectionLimits(total=3, per_address=1)
    for _ in range(2):
        slot = room.try_acquire("2001:db8::1")
        assert slot is not None
        slot.leave_address()
    last = room.try_acquire("2001:db8::1")
    assert (last is not None, room.is_full, room.try_acquire("2001:db8::1")) == (True, True, None)
    slot.release()
    assert not room.is_full


def test_a_quarter_of_all_connections_is_kept_from_the_fallback() -> None:
    room = ConnectionLimits(total=8, per_address=9)
    slots = [room.try_acquire("2001:db8::1") for _ in range(7)]
    with ExitStack() as stack:
        for slot in slots[:6]:
            assert slot is not None
            stack.enter_context(slot.count_delegation())
        assert slots[6] is not None
        with pytest.raises(Unavailable, match="dashboards have all the connections"), slots[6].count_delegation():
            pass
    with slots[6].count_delegation():
        pass


def test_the_connection_limit_is_derived_from_the_file_limit() -> None:
    def total(files: int, wanted: int) -> int:
        return ConnectionLimits.within_files(files, total=wanted, per_address=1, exempt=()).total

    assert [total(100_000, 4096), total(1024, 4096), total(64, 4096)] == [4096, 1024 - SPARE_FILES, MIN_CONNECTIONS]


def test_the_soft_file_limit_is_raised_to_the_hard_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
        assert raise_file_limit() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_excess_connections_of_one_address_are_closed() -> None:
    with serve_sample_application(limits=ConnectionLimits(total=10, per_address=2)) as server, ExitStack() as stack:
        first, second = (stack.enter_context(server.connect()) for _ in range(2))
        for connection in (first, second):
            assert connection.send(get_request("/healthz")).response().status == 200

        with server.connect() as third:
            assert third.ended()

        first.socket.close()
        assert eventually_answers(server.port)


def test_connections_beyond_the_total_limit_wait_while_all_others_work(capfd: pytest.CaptureFixture[str]) -> None:
    limits = ConnectionLimits(total=2, per_address=9)
    with serve_sample_application(limits=limits) as server, ExitStack() as stack:
        working = [stack.enter_context(server.connect()).send(get_request("/v1/wait")) for _ in range(2)]
        assert server.lab.waiting.wait(WAIT_TIMEOUT_S)
        wait_until(lambda: limits.is_full, True)
        waiting = stack.enter_context(server.connect()).send(get_request("/healthz"))
        said = ""
        while "2 connections are open, the limit" not in said:
            said += capfd.readouterr().err
            time.sleep(0.01)
        server.lab.may_continue.set()

        assert [connection.response().status for connection in [*working, waiting]] == [200] * 3


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: "], ids=["silent", "in its head"])
def test_the_longest_waiting_connection_of_the_largest_holder_makes_room(sent: bytes) -> None:
    limits = ConnectionLimits(total=6, per_address=9)
    with serve_sample_application(limits=limits) as server, ExitStack() as stack:
        addresses = ["127.0.0.3", *["127.0.0.2"] * 4, "127.0.0.3"]
        held = [stack.enter_context(connect_from(address, server.port)) for address in addresses]
        for connection in held:
            connection.sendall(sent)
        wait_until(lambda: len(server.server._connections), 6)
        with server.connect() as another:
            assert another.send(get_request("/healthz")).response().status == 200
        wait_until(lambda: len(server.server._connections), 5)

        assert held[1].recv(1) == b""
        for connection in (*held[:1], *held[2:]):
            connection.sendall(get_request("/healthz") if not sent else b"test\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"


def connect_from(address: str, port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=WAIT_TIMEOUT_S, source_address=(address, 0))


def eventually_answers(port: int) -> bool:
    """Whether a connection is answered before the timeout; a closed connection is followed by another one."""
    until = time.monotonic() + WAIT_TIMEOUT_S
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_TIMEOUT_S) as connected:
            try:
                connected.sendall(get_request("/healthz"))
                if connected.recv(12) == b"HTTP/1.1 200":
                    return True
            except ConnectionError:
                continue
    return False


SERVE_WITH_FEW_FILES = """
import resource, sys
from attestlab.cli import main

files = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
main.main()
"""


@contextmanager
def served_with_few_files(folder: Path, files: int) -> Iterator[tuple[ForkedProcess, str, Path]]:
    """The real server with a limit of open files; yields its process, port and log."""
    (folder / "data").mkdir(exist_ok=True)
    out, log = folder / "server.out", folder / "server.log"
    serve = ("serve", "--data", str(folder / "data"), "--port", "0")
    process = get_fork_server().start("code", SERVE_WITH_FEW_FILES, str(files), *serve, out=out, errors=log)
    try:
        yield process, process.wait_for_address(out, log), log
    finally:
        process.kill()


def measure_busy_s(process: ForkedProcess) -> float:
    """The processor time that the server uses while this thread computes for `BUSY_S`.

    A server that retries without a pause gets about as much of a busy machine as this thread. What it does once, such
    as the rest of its start, does not last for all rounds.
    """
    before, began = processor_s(process), time.thread_time()
    while time.thread_time() - began < BUSY_S:
        pass
    return processor_s(process) - before


def processor_s(process: ForkedProcess) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# The server has 19 open files at its start, and 26 once the sweep has run: with fewer, it would not recover.
def test_a_server_without_free_files_pauses_and_recovers(tmp_path: Path) -> None:
    """Without the pause, it retried immediately and logged a traceback each time: 2.8 MB a second."""
    files = 32
    with served_with_few_files(tmp_path, files) as (process, url, log), ExitStack() as stack:
        port = int(url.rpartition(":")[2])
        for _ in range(2 * files):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT_TIMEOUT_S))
        wait_until(lambda: "Too many open files" in log.read_text(), True)
        rounds_s = [measure_busy_s(process) for _ in range(ROUNDS)]

        accepting = [line for line in log.read_text().splitlines() if "accept" in line]  # other work lacks files, too
        assert "connections wait to be accepted" in accepting[0]
        assert len(accepting) < MAX_LINES
        assert min(rounds_s) < BUSY_S / 2

        stack.close()
        assert patient_http.get(f"{url}/healthz").status_code == 200
