"""The real `attestlab serve`, started for a test on a free port and a temporary folder."""

from __future__ import annotations

import itertools
import json
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from attestlab.installation import Installation
from attestlab.settings import Settings
from support import patient_http
from support.fork_server import ForkedProcess, get_fork_server, run_command
from support.installations import install
from support.lab_checks import check_lab

COMMAND = (sys.executable, "-m", "attestlab.cli.main")
_numbers = itertools.count(1)


class ServerProcess:
    """One server process with its installation; `client` speaks to it as the operator's tenant.

    `host` is what the fork server runs: `attestlab`, or `attestlab_ahead` and the seconds by which its clock is ahead.
    """

    host: tuple[str, ...] = ("attestlab",)

    def __init__(self, data: Path, database_url: str, made: dict[str, str]) -> None:
        self.data = data
        self.log = data / "server.log"
        self.database_url = database_url
        self.made = made
        self.fork_server = get_fork_server()
        self.process: ForkedProcess | None = None
        self.url = ""

    @classmethod
    def initialised(cls, data: Path, database_url: str) -> Self:
        """Make an installation, without starting anything yet."""
        return cls(data, database_url, install(data, database_url))

    def __enter__(self) -> Self:
        """To be left with no process behind; started before, with options, or now."""
        return self if self.process is not None and self.process.poll() is None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def start(self, *options: str) -> Self:
        """Start the server and wait until it is ready."""
        return self.launched(*options).ready()

    def launched(self, *options: str) -> Self:
        """Start the server, and do not wait."""
        arguments = ("--data", str(self.data), "--database-url", self.database_url, "--port", "0", *options)
        self.out = self.data / f"server.{next(_numbers)}.out"
        self.process = self.fork_server.start(*self.host, "serve", *arguments, out=self.out, errors=self.log)
        return self

    def ready(self) -> Self:
        """Wait until it announces its address."""
        assert self.process is not None
        self.url = self.process.wait_for_address(self.out, self.log)
        return self

    def client(self, *, key: str | None = None, **options: Any) -> httpx.Client:
        """A client with the operator's key, or another."""
        headers = {"X-API-Key": key or self.made["api_key"]}
        return patient_http.open_client(base_url=self.url, headers=headers, **options)

    def stop(self) -> None:
        """SIGTERM; the server must finish and exit 0."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0, self.errors()

    def kill(self) -> None:
        """SIGKILL, to the whole process group."""
        assert self.process is not None
        self.process.kill()

    def errors(self) -> str:
        """What the server wrote to stderr."""
        return self.log.read_text()

    def open_lab(self) -> Installation:
        """The installation itself, for a look while no server runs."""
        return Installation.open(Settings(data=self.data, database_url=self.database_url))

    def check(self) -> None:
        """Re-verify everything from outside."""
        lab = self.open_lab()
        try:
            check_lab(lab)
        finally:
            lab.close()


def run_json_command(*arguments: str) -> dict[str, Any]:
    """What a command prints with --json."""
    done = run_command(*arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
