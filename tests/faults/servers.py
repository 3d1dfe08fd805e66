"""Servers of the nursery: the real `attestlab serve` in a process of its own, quick to start again after each kill."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import Any

from faults.nursery import Nursery
from running_server import START_S, RunningServer
from sqlalchemy import create_engine, text

from attestlab.core.storage import database_url

_numbers = itertools.count(1)


def new_postgres_database(postgres_url: str, *, template: str = "template1") -> str:
    """The URL of a new database, empty or the copy of another that nobody is connected to."""
    name = f"faults_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(database_url(postgres_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return postgres_url.replace("/postgres?", f"/{name}?")


class QuickServer(RunningServer):
    """A `RunningServer` whose process a nursery forks; several may share one installation."""

    def __init__(self, nursery: Nursery, data: Path, database_url: str, made: dict[str, str]) -> None:
        super().__init__(data, database_url, made)
        self.nursery = nursery

    @classmethod
    def founded(cls, nursery: Nursery, data: Path, database_url: str) -> QuickServer:
        """A fresh installation, without a running server yet."""
        made = RunningServer.initialised(data, database_url)
        return cls(nursery, made.data, made.database_url, made.made)

    def another(self, database_url: str | None = None) -> QuickServer:
        """A further server of the same data folder, on the same records or others."""
        return QuickServer(self.nursery, self.data, database_url or self.database_url, self.made)

    def __enter__(self) -> QuickServer:
        """To be left with no process behind; started before, with options, or now."""
        return self if self.process is not None and self.process.poll() is None else self.start()

    def start(self, *options: str) -> QuickServer:
        """Start the server and wait until it is ready."""
        return self.launched(*options).ready()

    def launched(self, *options: str) -> QuickServer:
        """Start the server, and do not wait."""
        arguments = ("--data", str(self.data), "--database-url", self.database_url, "--port", "0", *options)
        self.out = self.data / f"server.{next(_numbers)}.out"
        process: Any = self.nursery.start("serve", *arguments, out=self.out, errors=self.data / "server.log")
        self.process = process
        return self

    def ready(self) -> QuickServer:
        """Wait until it announces its address."""
        deadline = time.monotonic() + START_S
        while not self.out.exists() or not self.out.read_text().startswith("ready http://"):
            assert time.monotonic() < deadline, self.errors()
            assert self.process is not None
            assert self.process.poll() is None, self.errors()
            time.sleep(0.002)
        self.url = self.out.read_text().split()[1]
        return self

    def workers(self) -> list[int]:
        """The processes that serve where `--workers` asked for several."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    def _close(self) -> None:
        """Its output goes to a file."""
