"""Limits how many long-running operations run concurrently; excess callers get `Unavailable` immediately."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from attestlab.core.errors import Unavailable

RETRY_AFTER_S = 5


class ConcurrencyLimit:
    """At most `max_running` operations run at once in this process; `kind` names them in the plural.

    Fails instead of blocking, because a blocked caller would hold a thread of the shared pool.
    """

    def __init__(self, max_running: int, kind: str) -> None:
        self._message = f"Too many {kind} are running (limit {max_running}). Retry in {RETRY_AFTER_S} seconds."
        self._free = BoundedSemaphore(max_running)

    @contextmanager
    def acquire(self) -> Iterator[None]:
        """Run the block as one of the concurrent operations.

        Raises:
            Unavailable: `max_running` operations are running already.
        """
        if not self._free.acquire(blocking=False):
            raise Unavailable(self._message, retry_after_s=RETRY_AFTER_S)
        try:
            yield
        finally:
            self._free.release()
