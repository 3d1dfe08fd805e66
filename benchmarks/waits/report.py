"""`waits.*`: what people wait for, each against a yardstick, measured in turn in one run.

Each module of this folder measures a wait. `BENCH_WAIT=busy_clients` measures one alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.waits import bulk_over_http, bulk_signals, busy_clients, client_rows, mint_by_name

WAIT_VARIABLE = "BENCH_WAIT"
WAITS: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "bulk_over_http": bulk_over_http.figures,
    "bulk_signals": bulk_signals.figures,
    "busy_clients": busy_clients.figures,
    "client_rows": client_rows.figures,
    "mint_by_name": mint_by_name.figures,
}


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures of each wait, measured in a folder for it alone."""
    selected = os.environ.get(WAIT_VARIABLE)
    for name in [selected] if selected else WAITS:
        own = folder / name
        own.mkdir()
        yield from WAITS[name](own)
