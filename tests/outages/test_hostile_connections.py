"""Thousands of connections that never become requests do not keep others from the service."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from support.attestations import make_mint_body, mint
from support.faults.required import faults_are_required
from support.issuers import register_issuer
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

ADDRESSES = [f"127.0.1.{number}" for number in range(20)]
HALF_HANDSHAKE = (
    b"GET /dash/risk/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
KINDS = (b"", HALF_HANDSHAKE, b"GET /healthz HTTP/1.1\r\nX-Drops: ")
MAX_S = 0.5  # beside what a busy machine takes without them
ROUNDS = 5


@pytest.mark.parametrize(
    ("limit", "hostile"), [(128, 400), pytest.param(4096, 5000, marks=pytest.mark.soak)], ids=["few", "5,000"]
)
def test_silence_half_handshakes_and_heads_in_drops_do_not_stop_others(
    tmp_path: Path, limit: int, hostile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTESTLAB_MAX_CONNECTIONS", str(limit))
    (tmp_path / "data").mkdir()
    made = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with made.start() as server, many_files(hostile), ExitStack() as stack:
        with server.client() as client:
            issuer = register_issuer(client)
        usual_s = max(time_requests(server, issuer))
        port = int(server.url.rpartition(":")[2])
        connections = [
            stack.enter_context(connect_from(address, port)) for address in islice(cycle(ADDRESSES), hostile)
        ]
        for connection, sent in zip(connections, cycle(KINDS), strict=False):
            send_if_open(connection, sent)
        took_s = []
        for _ in range(ROUNDS):
            for connection in connections[2::3]:
                send_if_open(connection, b"x")
            took_s.append(max(time_requests(server, issuer)))

    assert min(took_s) < MAX_S + 3 * usual_s, f"the slower of a health check and a mint took {took_s} seconds"


def connect_from(address: str, port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=WAIT_TIMEOUT_S, source_address=(address, 0))


def send_if_open(connection: socket.socket, data: bytes) -> None:
    """Send unless the server has closed the connection to make room."""
    try:
        connection.sendall(data)
    except ConnectionError:
        return


def time_requests(server: ServerProcess, issuer: Any) -> Iterator[float]:
    """Yield the seconds of a health check and of a mint, each over a new connection."""
    for mints in (False, True):
        began = time.monotonic()
        with server.client() as client:
            answer = mint(client, make_mint_body(issuer)) if mints else client.get("/healthz")
        assert answer.is_success
        yield time.monotonic() - began


@contextmanager
def many_files(count: int) -> Iterator[None]:
    """Let this process open `count` files beyond the usual limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 1000:
        (pytest.fail if faults_are_required() else pytest.skip)(f"a process may open {hard} files here, too few")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 1000), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
