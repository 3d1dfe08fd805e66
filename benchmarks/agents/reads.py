"""Reads and their rivals, measured in turn: the duration, and the processor time of all threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter, process_time
from typing import NamedTuple

from benchmarks.figures import Figure

ROUNDS = 11

Read = Callable[[], object]


class _Cost(NamedTuple):
    took_ms: float
    cpu_ms: float


def measure_read(name: str, read: Read) -> Iterator[Figure]:
    """Yield the duration and the processor time of a read."""
    yield from _show(name, [_measure(read) for _ in range(ROUNDS + 1)][1:])


def compare_reads(name: str, read: Read, rivals: Mapping[str, Read]) -> Iterator[Figure]:
    """Yield a read's figures and its ratios to the fastest of its rivals."""
    rounds = [[_measure(each) for each in (read, *rivals.values())] for _ in range(ROUNDS + 1)][1:]  # the first is cold
    own, *others = (list(side) for side in zip(*rounds, strict=True))
    best, against = min(zip(others, rivals, strict=True), key=lambda each: min(cost.cpu_ms for cost in each[0]))
    pairs = list(zip(own, best, strict=True))
    yield from _show(name, own)
    yield Figure.of_rounds(f"{name}_ratio", [a.took_ms / b.took_ms for a, b in pairs], "ratio", against=against)
    yield Figure.of_rounds(f"{name}_cpu_ratio", [a.cpu_ms / b.cpu_ms for a, b in pairs], "ratio", against=against)


def _show(name: str, costs: list[_Cost]) -> Iterator[Figure]:
    yield Figure.of_rounds(f"{name}_ms", [cost.took_ms for cost in costs], "ms")
    yield Figure.of_rounds(f"{name}_cpu_ms", [cost.cpu_ms for cost in costs], "ms")


def _measure(read: Read) -> _Cost:
    began, used = perf_counter(), process_time()
    read()
    return _Cost(1e3 * (perf_counter() - began), 1e3 * (process_time() - used))
