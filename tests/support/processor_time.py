"""The processor time that works take, compared without a clock on the wall.

Other processes delay a thread, and do not use its processor time. What is left of chance, such as a cache that another
process emptied, only adds; so each work is measured in several rounds, in turns with the others, and the least counts.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

ROUNDS = 7
LINEAR_FACTOR = 8
"""How much larger the second of two inputs is, where a test tells linear time from quadratic time."""
MAX_LINEAR_RATIO = 24
"""What the larger one may cost: linear time is 8 times as much or less, quadratic time 64 times."""


def measure_least_s(*works: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the least processor time of each work in this thread, in seconds, measured in turns."""
    return [min(of_work) for of_work in zip(*(_measure_round(works) for _ in range(rounds)), strict=True)]


def _measure_round(works: tuple[Callable[[], object], ...]) -> list[float]:
    return [_measure(work) for work in works]


def _measure(work: Callable[[], object]) -> float:
    began = thread_time()
    work()
    return thread_time() - began


def require_linear(make_work: Callable[[int], Callable[[], object]], size: int, *, rounds: int = ROUNDS) -> None:
    """Require that work on an input of eight times `size` takes about eight times as long, not the square of it.

    Args:
        make_work: makes the work on an input of a size; only the work is measured.
        size: of the smaller input.
        rounds: in how many rounds it is measured; few are enough for work of a tenth of a second.
    """
    small_s, large_s = measure_least_s(make_work(size), make_work(size * LINEAR_FACTOR), rounds=rounds)
    assert large_s < MAX_LINEAR_RATIO * small_s, f"{LINEAR_FACTOR} times as much took {large_s / small_s:.0f} times"
