"""A full or broken disk loses no acknowledged mint, and the server continues when the disk works again."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.attestations import make_mint_body, mint
from support.faults import strace
from support.faults.checks import check_acknowledged_mints, check_minting_clients, count_attestations
from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClient, MintingClients, read_acknowledgement
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.issuers import register_issuer

WRITES_OF_A_MINT = 40
pytestmark = strace.needs_strace


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path) -> Iterator[ForkedServer]:
    """A running server on SQLite."""
    url = f"sqlite:///{tmp_path / 'records.db'}"
    with ForkedServer.founded(fork_server, tmp_path / "data", url).start() as running:
        yield running


@pytest.fixture
def http(server: ForkedServer) -> Iterator[httpx.Client]:
    with server.client(verify=NO_TLS_CONTEXT) as opened:
        yield opened


@pytest.fixture
def issuer(http: httpx.Client) -> dict[str, Any]:
    return register_issuer(http)


def faults_of_one_mint() -> Iterator[tuple[str, int, str]]:
    """Each call of a mint that changes the disk, with what may become of it."""
    for number in range(1, WRITES_OF_A_MINT):
        yield "pwrite64", number, ("ENOSPC", "EIO")[number % 2]
    for number in (1, 2):  # the records, the head guard
        for error in ("EIO", "ENOSPC"):
            yield "fdatasync", number, error
    yield "pread64", 1, "EIO"
    yield "openat", 1, "EMFILE"
    yield "flock", 1, "EINTR"


def test_any_failed_disk_call_is_survived(server: ForkedServer, http: httpx.Client, issuer: dict[str, Any]) -> None:
    """
    Each mint is acknowledged, or refused with 503 and found or done by the next attempt under its key.
    """
    client = MintingClient(issuer)
    assert server.process is not None
    for call, number, error in faults_of_one_mint():
        with strace.attach(server.process.pid, *strace.injection_options(call, number, f"error={error}")):
            for _ in range(2):
                client.step(http)
                client.settle(http)
    assert client.refusals, "no fault was ever met"
    server.stop()
    check_client(server, client)


def check_client(server: ForkedServer, client: MintingClient) -> None:
    lab = server.open_lab()
    check_acknowledged_mints(lab, [read_acknowledgement(a) for a in client.answers.values()], seen=client.seen)
    assert count_attestations(lab) == len(client.answers)
    lab.close()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        *[("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("pread64", "EIO")],
        *[
            pytest.param(*other, marks=pytest.mark.soak)
            for other in (("pwrite64", "EIO"), ("fdatasync", "ENOSPC"), ("pread64", "ENOSPC"))
        ],
    ],
)
def test_repeated_disk_failures_under_load_lose_nothing(
    server: ForkedServer, issuer: dict[str, Any], call: str, error: str, is_long: bool
) -> None:
    chance = random.Random(f"{call} {error}")
    other = server.another().start()  # whose writes make this one read the disk
    minters = MintingClients(issuer, 4)
    assert server.process is not None
    with other:
        with minters.at_work(server, other):
            for _ in range(12 if is_long else 2):
                often = f"{chance.randrange(1, 60)}+{chance.randrange(1, 60)}"
                with strace.attach(server.process.pid, *strace.injection_options(call, often, f"error={error}")):
                    time.sleep(0.3)
                time.sleep(0.1)
        minters.settle(server)
        other.stop()
    server.stop()
    check_minting_clients(server, minters)


def test_full_disk_rejects_mints_and_serves_reads(
    server: ForkedServer, http: httpx.Client, issuer: dict[str, Any]
) -> None:
    client = MintingClient(issuer)
    client.step(http)
    kept = next(iter(client.answers.values())).json()
    assert server.process is not None
    with strace.attach(server.process.pid, *strace.injection_options("pwrite64", "1+", "error=ENOSPC")):
        for _ in range(5):
            refused = mint(http, make_mint_body(issuer))
            assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE"), refused.text
            assert int(refused.headers["Retry-After"]) >= 1
        assert http.get(f"/v1/attestations/{kept['id']}").status_code == 200
        assert http.get("/log/checkpoint").text == kept["checkpoint"]
        assert http.get("/healthz").status_code == 200
    client.step(http)
    server.stop()
    check_client(server, client)


@pytest.mark.soak  # it waits for the quarter of a minute that a writer waits
def test_records_locked_by_others_are_unavailable_in_time(
    server: ForkedServer, http: httpx.Client, issuer: dict[str, Any], tmp_path: Path
) -> None:
    """
    A backup tool, or a prompt left open, holds the writer's lock for longer than anybody waits.
    """
    with sqlite3.connect(tmp_path / "records.db", isolation_level=None) as hog:
        hog.execute("BEGIN IMMEDIATE")
        refused = mint(http, make_mint_body(issuer))
        assert refused.status_code == 503, refused.text
        hog.execute("ROLLBACK")
    hog.close()
    client = MintingClient(issuer)
    client.step(http)
    server.stop()
    check_client(server, client)
