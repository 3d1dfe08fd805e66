"""A server whose log output cannot be written continues its background work: mails and expiries."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from support.faults.minting_clients import NO_TLS_CONTEXT
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import wait_until


def full_disk(_folder: Path) -> tuple[Path, int | None]:
    return Path("/dev/full"), None


def pipe_whose_reader_dies(folder: Path) -> tuple[Path, int | None]:
    """A pipe and its reading end, which the server needs open while it starts."""
    pipe = folder / "log.pipe"
    os.mkfifo(pipe)
    return pipe, os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)


@contextmanager
def serving(fork_server: ForkServer, data: Path, log: tuple[Path, int | None]) -> Iterator[ForkedServer]:
    server = ForkedServer.founded(fork_server, data, f"sqlite:///{data / 'records.db'}")
    server.log, reading = log
    with server.start() as running:
        if reading is not None:
            os.close(reading)
        yield running
        assert running.process is not None
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait() == 0
        running.check()


@contextmanager
def every_change_refused(data: Path, *tables: str) -> Iterator[None]:
    """Let every change of these tables fail in the database, as an operator's trigger or a full disk would."""
    with sqlite3.connect(data / "records.db", isolation_level=None) as records:
        for table in tables:
            refusal = "BEGIN SELECT RAISE(ABORT, 'refused'); END"
            records.execute(f"CREATE TRIGGER trouble_{table} BEFORE UPDATE ON {table} {refusal}")
        yield
        for table in tables:
            records.execute(f"DROP TRIGGER trouble_{table}")
    records.close()


def background(http: httpx.Client) -> str:
    answer = http.get("/readyz")
    body = answer.json()
    found: dict[str, str] = body["checks"] if answer.status_code == 200 else body["details"]["checks"]
    return found["background"]


def invite(http: httpx.Client, email: str) -> None:
    answer = http.post("/v1/users", json={"email": email, "role": "member", "name": "Ada"})
    assert answer.status_code == 201, answer.text


def mails(data: Path) -> int:
    folder = data / "maildir" / "new"
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.parametrize("log", [pytest.param(full_disk, marks=pytest.mark.soak), pipe_whose_reader_dies])
def test_mail_worker_survives_an_unwritable_log(
    fork_server: ForkServer, tmp_path: Path, log: Callable[[Path], tuple[Path, int | None]]
) -> None:
    """`/readyz` reports the failed worker until it has run again; the mail of the outage is delivered."""
    data = tmp_path / "data"
    with serving(fork_server, data, log(tmp_path)) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        with every_change_refused(data, "mails"):
            invite(http, "ada@people.example")
            wait_until(lambda: background(http), "failed")
        wait_until(lambda: mails(data), 1)
        wait_until(lambda: background(http), "ok")
        assert "attestlab_log_lines_lost_total 0.0" not in http.get("/metrics").text
