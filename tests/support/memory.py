"""The memory that Python allocates for one call.

It is measured in a separate process: tracemalloc counts what all threads of a process allocate, and in a process that
runs tests, those of servers and of earlier tests allocate, too.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

from attestlab.core.errors import AttestLabError
from support.fork_server import call_at_once

Result = TypeVar("Result")


def call_in_little_memory(function: Callable[..., Result], *arguments: object, max_bytes: int) -> Result:
    """Call a module-level function in a separate process, and require that Python allocated less than `max_bytes`.

    Raises:
        AttestLabError: raised by the function.
    """
    try:
        ((result, peak_bytes),) = call_at_once(_measure, (function, *arguments))
    except AttestLabError as error:
        _require_little(error.__dict__["peak_bytes"], max_bytes)
        raise
    _require_little(peak_bytes, max_bytes)
    return result


def _require_little(peak_bytes: int, max_bytes: int) -> None:
    assert peak_bytes < max_bytes, f"Python allocated {peak_bytes:,} bytes"


def _measure(function: Callable[..., Result], *arguments: object) -> tuple[Result, int]:
    tracemalloc.start()
    try:
        return function(*arguments), tracemalloc.get_traced_memory()[1]
    except AttestLabError as error:
        error.__dict__["peak_bytes"] = tracemalloc.get_traced_memory()[1]
        raise
    finally:
        tracemalloc.stop()
