"""Two sides of a comparison over HTTP, loaded in turn: throughput, and the server's processor time.

Both are given: on a busy machine the second is the steadier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures import Figure
from benchmarks.load import Plan, run_load
from benchmarks.servers import Server

ROUNDS = 7
SECONDS = 1.5
WARMUP_S = 0.3


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a server, a request for it, and the status of its answer."""

    server: Server
    request: str
    status: int = 200


def compare_sides(name: str, ours: Side, theirs: Side, connections: int, *, against: str) -> Iterator[Figure]:
    """Yield the ratio of throughput, ours by theirs, and that of the server's processor time, theirs by ours."""
    rounds: tuple[list[tuple[float, float]], ...] = ([], [])
    for turn in range(ROUNDS):
        for place in (0, 1) if turn % 2 else (1, 0):
            rounds[place].append(_measure((ours, theirs)[place], connections))
    pairs = list(zip(*rounds, strict=True))
    yield Figure.of_rounds(f"{name}_ratio", [a[0] / b[0] for a, b in pairs], "ratio", against=against)
    yield Figure.of_rounds(f"{name}_cpu_ratio", [b[1] / a[1] for a, b in pairs], "ratio", against=against)
    yield Figure.of_rounds(f"{name}_cpu_us", [a[1] for a, _ in pairs], "us")


def _measure(side: Side, connections: int) -> tuple[float, float]:
    """Return responses a second, and the server's processor time for each, in microseconds."""
    before = side.server.cpu_s()
    load = run_load(Plan(side.server.port, connections, SECONDS, WARMUP_S, side.status, [side.request]))
    return load.per_second, 1e6 * (side.server.cpu_s() - before) / load.responses
