"""Requests to every route again and again do not make the server grow."""

from __future__ import annotations

import http.client
import secrets
from pathlib import Path

import pytest

from benchmarks.stall.targets import Target, list_targets
from benchmarks.stall.world import AttackedInstallation, serve_attacked_installation
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.soak

BODY_BYTES = 16_000
CASES = 1  # of each route; all of them take six minutes
FIRST_SWEEPS, MORE_SWEEPS = 3, 10
MAX_GROWTH = 1.1


def test_ten_more_sweeps_of_all_routes_add_at_most_a_tenth(tmp_path: Path) -> None:
    with serve_attacked_installation(tmp_path / "data") as world:
        for _ in range(FIRST_SWEEPS):
            sweep(world)
        before = resident_mib(world.server.pid)
        grown = [sweep(world) for _ in range(MORE_SWEEPS)]

    assert grown[-1] < MAX_GROWTH * before, f"{before:.0f} MiB after {FIRST_SWEEPS} sweeps, then {grown}"


def sweep(world: AttackedInstallation) -> float:
    """Send a body to every route, and return how many MiB the server has then."""
    for target in list_targets(world):
        for case in target.cases[:CASES]:
            send(world, target, case.make(BODY_BYTES))
    return resident_mib(world.server.pid)


def send(world: AttackedInstallation, target: Target, body: bytes) -> None:
    """Send a request; refusals and limits are answers, too."""
    connection = http.client.HTTPConnection("127.0.0.1", world.server.port, timeout=WAIT_TIMEOUT_S)
    headers = {"Content-Type": "application/json", **target.headers, "Idempotency-Key": secrets.token_hex(16)}
    try:
        connection.request(target.method, target.path, body if target.has_body else None, headers)
        connection.getresponse().read()
    finally:
        connection.close()


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
