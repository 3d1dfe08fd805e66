"""The servers that are measured, each a process of its own on a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

ATTESTLAB = Path(sys.executable).parent / "attestlab"
STOP_S = 10
UNLIMITED = "1000000000"  # one address asks for everything here


@dataclass(frozen=True)
class Server:
    """A server that said it is ready, and how long that took from the start of its process."""

    url: str
    pid: int
    ready_s: float

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    def cpu_s(self) -> float:
        """Processor time that it has used so far, all threads, user and system (Linux /proc)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def floor(folder: Path) -> Iterator[Server]:
    """The bare handler of `benchmarks.floor`."""
    with started([sys.executable, "-m", "benchmarks.floor", "--data", str(folder)]) as server:
        yield server


@contextmanager
def attestlab(folder: Path) -> Iterator[Server]:
    """The real server on a folder that `init` has made."""
    with started([str(ATTESTLAB), "serve", "--data", str(folder), "--port", "0"]) as server:
        yield server


def init(folder: Path) -> dict[str, Any]:
    """A fresh data folder; what `attestlab init --json` says about it."""
    done = subprocess.run(
        [str(ATTESTLAB), "init", "--data", str(folder), "--json"], capture_output=True, text=True, check=True
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made


@contextmanager
def started(command: list[str]) -> Iterator[Server]:
    """Start a server that prints `ready URL`; end it after the block."""
    begin = perf_counter()
    environment = {**os.environ, "ATTESTLAB_ADDRESS_REQUESTS_PER_MINUTE": UNLIMITED}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        first = process.stdout.readline().split()
        if len(first) != 2 or first[0] != "ready":
            raise RuntimeError(f"{command[0]} did not say that it is ready.")
        yield Server(first[1], process.pid, perf_counter() - begin)
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()
