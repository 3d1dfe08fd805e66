"""The real `attestlab serve`, started for a test on a free port and a temporary folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any
from uuid import uuid4

import httpx
from lab_checks import check_lab

from attestlab.core.clock import SystemClock
from attestlab.lab import Lab
from attestlab.settings import Settings

COMMAND = (sys.executable, "-m", "attestlab.cli")
START_S = 30
STOP_S = 10


class RunningServer:
    """One server process with its installation; `client` speaks to it as the operator's tenant."""

    def __init__(self, data: Path, database_url: str, made: dict[str, str], *, wrapper: tuple[str, ...] = ()) -> None:
        self.data = data
        self.database_url = database_url
        self.made = made
        self.wrapper = wrapper
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    @classmethod
    def initialised(cls, data: Path, database_url: str, **options: Any) -> RunningServer:
        """Make an installation, without starting anything yet."""
        lab, made = Lab.init(Settings(data=data, database_url=database_url), clock=SystemClock())
        lab.close()
        return cls(data, database_url, made.public(), **options)

    def __enter__(self) -> RunningServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def start(self, *options: str) -> RunningServer:
        """Start the server and wait until it is ready."""
        command = [*self.wrapper, *COMMAND, "serve", "--data", str(self.data), "--database-url", self.database_url]
        with (self.data / "server.log").open("a") as log:
            self._launch(command, options, log)
        return self

    def _launch(self, command: list[str], options: tuple[str, ...], log: IO[str]) -> None:
        self.process = subprocess.Popen(
            [*command, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ready http://"), (line, self.errors())
        self.url = line.split()[1]

    def client(self, *, key: str | None = None, **options: Any) -> httpx.Client:
        """A client with the operator's key, or another."""
        return httpx.Client(
            base_url=self.url, headers={"X-API-Key": key or self.made["api_key"]}, timeout=30, **options
        )

    def stop(self) -> None:
        """SIGTERM; the server must finish and exit 0."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(STOP_S) == 0, self.errors()
        self._close()

    def kill(self) -> None:
        """SIGKILL, to the whole process group."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)
        self._close()

    def _close(self) -> None:
        if isinstance(self.process, subprocess.Popen) and self.process.stdout is not None:
            self.process.stdout.close()

    def errors(self) -> str:
        """What the server wrote to stderr."""
        return (self.data / "server.log").read_text()

    def open_lab(self) -> Lab:
        """The installation itself, for a look while no server runs."""
        return Lab.open(Settings(data=self.data, database_url=self.database_url))

    def check(self) -> None:
        """Re-verify everything from outside."""
        lab = self.open_lab()
        try:
            check_lab(lab)
        finally:
            lab.close()


def register_issuer(client: httpx.Client, *, alg: str = "Ed25519", **profile: Any) -> dict[str, Any]:
    """A fresh issuer with one managed key."""
    body = {"name": "Northfield University", "domain": "northfield.example.edu", "alg": alg, **profile}
    answer = client.post("/v1/issuers", json=body)
    assert answer.status_code == 201, answer.text
    issuer: dict[str, Any] = answer.json()
    return issuer


def mint_body(issuer: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A mint body that is accepted."""
    key = issuer["keys"][0]
    claims = {"student_name": "Ada Lovelace", "institution": issuer["name"], "degree_type": "MSc"}
    return {
        "issuer_id": issuer["id"],
        "kid": key["kid"],
        "alg": key["alg"],
        "schema": "degree",
        "claims": claims,
        **changes,
    }


def mint(client: httpx.Client, body: dict[str, Any], *, key: str | None = None) -> httpx.Response:
    """One mint under a fresh Idempotency-Key, or the one given."""
    return client.post("/v1/attestations/mint", json=body, headers={"Idempotency-Key": key or str(uuid4())})


def printed(*arguments: str) -> dict[str, Any]:
    """What a command prints with --json."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
