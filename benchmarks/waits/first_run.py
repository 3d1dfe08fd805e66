"""The first run: a fresh clone of the committed sources, `make run` until it serves, then the same again.

The caches of installers and demos are empty at the first run. It downloads packages from the index that the machine is
configured for, so it needs one; without it the figures say nothing but that.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.figures import Figure

ROOT = Path(__file__).parents[2]
ROUNDS_AGAIN = 3
_CACHES = ("XDG_CACHE_HOME", "PIP_CACHE_DIR", "UV_CACHE_DIR")


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the seconds from the command to the server that answers, of a fresh clone and of the runs after it."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    environment = {name: str(folder / name.lower()) for name in _CACHES}
    yield Figure("waits.first_run_s", round(_measure_run_s(clone, environment), 1), "s")
    again = [_measure_run_s(clone, environment) for _ in range(ROUNDS_AGAIN)]
    yield Figure.of_rounds("waits.run_again_s", again, "s")


def _measure_run_s(clone: Path, environment: dict[str, str]) -> float:
    """Run `make run` until the demo says where it listens."""
    command = ["make", "--no-print-directory", "-C", str(clone), "run", "ARGS=--port 0"]
    began = perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            if not any("http://" in line for line in process.stdout):
                raise RuntimeError("`make run` ended before it served. Its output says why.")
            return perf_counter() - began
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # of make and what it runs, which are a session of their own
