"""`cli.*` and `serve.*`: start-up times of the command line and the server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks import servers
from benchmarks.figures import Figure

ROUNDS = 11


def cli_figures(_folder: Path) -> Iterator[Figure]:
    """Yield the time of `attestlab --help`, from the start of the process to its end."""
    yield Figure.of_rounds("cli.help_ms", [1000 * _measure_help_s() for _ in range(ROUNDS)], "ms")


def _measure_help_s() -> float:
    begin = perf_counter()
    subprocess.run([str(servers.ATTESTLAB), "--help"], capture_output=True, check=True)
    return perf_counter() - begin


def serve_figures(folder: Path) -> Iterator[Figure]:
    """Yield the time of `attestlab serve`, from the start of the process to its `ready` line."""
    servers.init_data_folder(folder / "data")
    yield Figure.of_rounds("serve.ready_s", [_measure_ready_s(folder / "data") for _ in range(ROUNDS)], "s")


def _measure_ready_s(data: Path) -> float:
    with servers.run_attestlab(data) as server:
        return server.ready_s
