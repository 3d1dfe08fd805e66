"""A server ends within seconds of SIGTERM, whatever its clients do and however busy the machine is."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClients
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.issuers import register_issuer

pytestmark = pytest.mark.soak

STOPS = 50
STOP_TIMEOUT_S = 5.0
BUSY_PROCESSES = 4
CLIENTS = 4


@contextmanager
def busy_machine() -> Iterator[None]:
    """Processes that use every processor: on a quiet machine, no stop meets an event that is being published."""
    with ExitStack() as stack:
        for _ in range(BUSY_PROCESSES):
            stack.callback(kill, subprocess.Popen(["sha256sum", "/dev/zero"], stdout=subprocess.DEVNULL))
        yield


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def stop_while_clients_mint(server: ForkedServer, number: int) -> float:
    """Send SIGTERM after a few mints, in another moment each time; return the seconds until the server has ended."""
    with server.client(verify=NO_TLS_CONTEXT) as http:
        issuer = register_issuer(http, kid=f"key-{number}")
    clients = MintingClients(issuer, CLIENTS)
    with clients.at_work(server):
        for _ in range(1 + number % 7):
            clients.wait_for_answer()
        assert server.process is not None
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait()
        took_s = time.monotonic() - began
    assert code == 0, server.errors()
    return took_s


def test_fifty_stops_under_load_all_end_within_five_seconds(fork_server: ForkServer, tmp_path: Path) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    took: list[float] = []
    with busy_machine():
        for number in range(STOPS):
            with server.start():
                took.append(stop_while_clients_mint(server, number))
    assert max(took) < STOP_TIMEOUT_S, sorted(took)
    assert "task did not end" not in server.errors()
    server.check()
