"""The measured servers, each a separate process with its own data folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

ATTESTLAB = Path(sys.executable).parent / "attestlab"
STOP_S = 120  # a server commits what it accepted, also on a busy machine
UNLIMITED = "1000000000"  # one address sends all requests of a benchmark


@dataclass(frozen=True)
class Server:
    """A server that is ready, and the time from the start of its process until then."""

    url: str
    pid: int
    ready_s: float

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    def cpu_s(self) -> float:
        """Return the processor time used so far by all threads, user and system."""
        return read_cpu_s(self.pid)


def read_cpu_s(pid: int) -> float:
    """Read the processor time that all threads of a process have used, user and system (Linux /proc)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def run_floor(folder: Path) -> Iterator[Server]:
    """Run the bare server of `benchmarks.floor`."""
    with start_server([sys.executable, "-m", "benchmarks.floor", "--data", str(folder)]) as server:
        yield server


@contextmanager
def run_attestlab(
    folder: Path, *, database_url: str | None = None, command: Sequence[str] = (str(ATTESTLAB),)
) -> Iterator[Server]:
    """Run the real server on a folder that `init` has created; another `command` may run it in part."""
    with start_server([*command, "serve", *_records(folder, database_url), "--port", "0"]) as server:
        yield server


def init_data_folder(folder: Path, *, database_url: str | None = None) -> dict[str, Any]:
    """Create a data folder, and return the output of `attestlab init --json`."""
    done = subprocess.run(
        [str(ATTESTLAB), "init", *_records(folder, database_url), "--json"], capture_output=True, text=True, check=True
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def _records(folder: Path, database_url: str | None) -> list[str]:
    """Return the arguments that name the data folder and, unless the records are in it, their database."""
    return ["--data", str(folder), *([] if database_url is None else ["--database-url", database_url])]


@contextmanager
def start_server(command: list[str]) -> Iterator[Server]:
    """Start a server that prints `ready URL`; end it after the block."""
    begin = perf_counter()
    environment = {**os.environ, "ATTESTLAB_ADDRESS_REQUESTS_PER_MINUTE": UNLIMITED}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        first = process.stdout.readline().split()
        if len(first) != 2 or first[0] != "ready":
            raise RuntimeError(f"{command[0]} did not print its ready line.")
        yield Server(first[1], process.pid, perf_counter() - begin)
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()
