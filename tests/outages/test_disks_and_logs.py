"""Two servers survive a full disk, a locked database, and logs that cannot be written; acknowledged writes remain."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from attestlab.core.encoding import format_time
from support.attestations import mint
from support.disks import SmallDisk
from support.faults.checks import check_minting_clients
from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClients
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import wait_until
from support.issuers import register_issuer
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.soak


@contextmanager
def pair(fork_server: ForkServer, data: Path) -> Iterator[tuple[ForkedServer, ForkedServer]]:
    """Two servers of one data folder: one logs to its disk, the log reader of the other dies."""
    one = ForkedServer.founded(fork_server, data, f"sqlite:///{data / 'records.db'}")
    other = one.another()
    other.log = data.parent.parent / "log.pipe"
    os.mkfifo(other.log)
    reading = os.open(other.log, os.O_RDONLY | os.O_NONBLOCK)
    with one.start(), other.start():
        os.close(reading)
        yield one, other


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """Locks the database against writes, as a backup tool does."""
    with sqlite3.connect(data / "records.db", isolation_level=None, timeout=WAIT_TIMEOUT_S) as hog:
        hog.execute("BEGIN IMMEDIATE")
        yield
        hog.execute("ROLLBACK")
    hog.close()


def failed(http: httpx.Client) -> set[str]:
    """Returns the failed checks of `/readyz`."""
    answer = http.get("/readyz")
    return {name for name, state in answer.json().get("details", {}).get("checks", {}).items() if state != "ok"}


def mint_that_ends(http: httpx.Client, body: dict[str, Any]) -> httpx.Response:
    """Mints an attestation that expires while the database is locked."""
    ends_at = datetime.now(UTC) + timedelta(seconds=8)
    return mint(http, {**body, "expiry_at": format_time(ends_at)}, key="brief")


def status_of(data: Path, attestation_id: str) -> str:
    with sqlite3.connect(f"{(data / 'records.db').as_uri()}?mode=ro", uri=True) as records:
        wanted = attestation_id.replace("-", "")
        found: str = records.execute("SELECT status FROM attestations WHERE id = ?", (wanted,)).fetchone()[0]
    records.close()
    return found


def mails(data: Path) -> int:
    with suppress(FileNotFoundError):
        return len(list((data / "maildir" / "new").iterdir()))
    return 0


def test_two_servers_survive_a_full_disk_a_locked_database_and_no_log(fork_server: ForkServer, disk: SmallDisk) -> None:
    data = disk.folder / "data"
    with (
        pair(fork_server, data) as (one, other),
        one.client(verify=NO_TLS_CONTEXT) as http,
        other.client(verify=NO_TLS_CONTEXT) as neighbour,
    ):
        issuer = register_issuer(http)
        minters = MintingClients(issuer, 4)
        ends = mint_that_ends(http, minters.clients[0].body("brief"))
        minters.clients[0].answers["brief"] = ends
        with minters.at_work(one, other):
            minters.wait_for_answer()
            with disk.full():
                for client in (http, neighbour):
                    wait_until(lambda client=client: "writes" in failed(client), True)
            minters.wait_for_answer()
        with locked(data):
            wait_until(lambda: "writes" in failed(http) and "writes" in failed(neighbour), True)
        invited = neighbour.post("/v1/users", json={"email": "ada@people.example", "role": "member", "name": "Ada"})
        assert invited.status_code == 201, invited.text
        wait_until(lambda: mails(data), 1)
        wait_until(lambda: status_of(data, ends.json()["id"]), "EXPIRED")
        for client in (http, neighbour):
            wait_until(lambda client=client: failed(client), set())
        lost = "attestlab_log_lines_lost_total 0.0"
        assert lost not in neighbour.get("/metrics").text
        minters.settle(one)
        one.stop()
        other.stop()
    check_minting_clients(one, minters)
