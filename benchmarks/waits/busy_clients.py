"""A request beside busy keep-alive clients: the p99 of verify, against a bare Tornado server under the same load.

The clients run in a process of their own, so that their next request is there while the server still answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import over_http
from benchmarks.figures import Figure


def figures(folder: Path) -> Iterator[Figure]:
    """Yield latencies and throughput with 64 and 8 clients."""
    with ExitStack() as stack:
        ours, floor = over_http.start_sides(stack, folder)
        for clients in (64, 8):
            name = "waits.busy_clients.verify"
            rounds = over_http.measure_in_turn(ours, floor, "verifies", clients, 200)
            yield from over_http.latency_figures(name, clients, *rounds, shares=("p99",))
            yield from over_http.ratio_figures(name, clients, *rounds)
