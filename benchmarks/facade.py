"""`facade.*`: what an analyst waits for: a million signals as a data frame through each door, and the import.

The signals are written by the lake's own writer, all of one tenant. The rival is DuckDB's own `.df()` of the same
columns, as they stand in the same files. `BENCH_SIGNALS=100000` sets the number of signals.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb

import attestlab
from attestlab.installation import Installation
from attestlab.lake.datasets import SIGNALS
from attestlab.lake.parts import find_parts
from attestlab.settings import Settings
from benchmarks import servers
from benchmarks.figures import Figure
from benchmarks.risk_lake import DEFAULT_SIGNALS, SIGNALS_VARIABLE, load_signals

ROUNDS = 7
IMPORT_ROUNDS = 15
_IMPORT = "from time import perf_counter; start = perf_counter(); import attestlab; print(perf_counter() - start)"


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the times of the import and of a data frame of all signals: DuckDB's, in process, and over HTTP."""
    yield Figure.of_rounds("facade.import_ms", [_measure_import_ms() for _ in range(IMPORT_ROUNDS)], "ms")
    count, data = int(os.environ.get(SIGNALS_VARIABLE, DEFAULT_SIGNALS)), folder / "data"
    api_key, files = _fill(data, count)
    with (
        duckdb.connect(":memory:") as plain_duckdb,
        attestlab.open(data) as lab,
        servers.run_attestlab(data) as server,
        attestlab.connect(server.url, api_key) as remote,
    ):
        rival = f"SELECT {', '.join(lab.signals.columns)} FROM read_parquet({files!r})"
        plain, inside, outside = _take_turns(
            lambda: len(plain_duckdb.execute(rival).df()),
            lambda: len(lab.signals.df()),
            lambda: len(remote.signals.df()),
        )
    yield Figure.of_rounds(f"facade.duckdb_df_s, {count:,} signals", plain, "s")
    yield Figure.of_rounds(f"facade.in_process_df_s, {count:,} signals", inside, "s")
    yield _compare("facade.in_process_df, ratio", inside, plain, "DuckDB's .df()")
    yield Figure.of_rounds(f"facade.http_df_s, {count:,} signals", outside, "s")
    yield _compare("facade.http_df, ratio", outside, inside, "in process")


def _fill(data: Path, count: int) -> tuple[str, list[str]]:
    """Make an installation with signals of its operator; return its API key and the files of the signals."""
    lab, founded = Installation.init(Settings(data=data))
    load_signals(lab, count, [founded.tenant.tenant_id])
    files = [str(part.path) for part in find_parts(lab.lake.folder / SIGNALS.name).chain]
    lab.close()
    return founded.tenant.api_key, files


def _take_turns(*reads: Callable[[], int]) -> list[list[float]]:
    """Measure each read in turns, after a round that warms up; all return the same number of rows."""
    times: list[list[float]] = [[] for _ in reads]
    for _ in range(ROUNDS + 1):
        counts = set()
        for read, own in zip(reads, times, strict=True):
            start = perf_counter()
            counts.add(read())
            own.append(perf_counter() - start)
        if len(counts) != 1:
            raise RuntimeError(f"The frames have different numbers of rows: {counts}.")
    return [own[1:] for own in times]


def _compare(name: str, own: list[float], other: list[float], against: str) -> Figure:
    return Figure(name, round(median(own) / median(other), 2), "", against=against)


def _measure_import_ms() -> float:
    done = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
    return 1000 * float(done.stdout)
