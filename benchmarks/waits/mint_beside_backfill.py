"""Mints with eight connections next to a backfill of signals, against the same mints alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import risk_over_http, world
from benchmarks.figures import Figure


def figures(folder: Path) -> Iterator[Figure]:
    """Yield latencies and throughput of the mints, and the rate of the backfill."""
    with world.serve_installation(folder / "data") as served:
        yield from risk_over_http.measure_backfill("waits", served)
