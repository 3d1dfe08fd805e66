"""Calls that start at the same time, for tests in which one of many wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from support.timeouts import WAIT_TIMEOUT_S

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def call_together(function: Callable[[Argument], Result], arguments: Iterable[Argument]) -> list[Result]:
    """Call a function with each argument, each call in a thread; return the results in the order of the arguments.

    No call begins before all threads run, so that the first is not over when the last begins.
    """
    each = list(arguments)
    barrier = Barrier(len(each))

    def call(argument: Argument) -> Result:
        barrier.wait(WAIT_TIMEOUT_S)
        return function(argument)

    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(call, each))
