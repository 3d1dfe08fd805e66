"""A bound on work that is long: a few run at once, and whoever comes too late is told so at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from attestlab.core.errors import Unavailable

RETRY_AFTER_S = 5


class ConcurrencyLimit:
    """At most `most` of a kind run at once in this process; `kind` names them in the plural.

    Nobody waits: who waits holds a thread, and the threads are everybody's.
    """

    def __init__(self, most: int, kind: str) -> None:
        self._told = f"{most} {kind} run already; ask again in a few seconds."
        self._free = BoundedSemaphore(most)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One of the few.

        Raises:
            Unavailable: as many run already.
        """
        if not self._free.acquire(blocking=False):
            raise Unavailable(self._told, retry_after_s=RETRY_AFTER_S)
        try:
            yield
        finally:
            self._free.release()
