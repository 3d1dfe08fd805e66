"""The jobs that wait for a process, so that one which holds a process and does nothing can make room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from threading import Lock
from typing import NamedTuple


class Share(NamedTuple):
    """The part of a pool for a group of tenants: how many jobs of one tenant, and of all of them, run at once."""

    name: str
    of_a_tenant: int
    of_all: int


class WaitingJobs:
    """Counts the waiting jobs of each tenant. Threads may share it; `_lock` protects `_counts`."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Hashable, Share | None]] = Counter()
        self._lock = Lock()

    def add(self, tenant: Hashable, share: Share | None = None) -> Callable[[], None]:
        """Count a job that waits: for its turn in `share`, or for a process. Call the result when it no longer does.

        The result may be called again.
        """
        key = (tenant, share)
        with self._lock:
            self._counts[key] += 1
        tokens = [key]

        def end() -> None:
            with self._lock:
                while tokens:
                    self._counts.subtract([tokens.pop()])
                self._counts += Counter()  # forgets those that are zero

        return end

    def has_others(self, tenant: Hashable, share: Share | None) -> bool:
        """Whether a job of another tenant waits for a process, or for a turn in the same share."""
        with self._lock:
            return any(other != tenant and place in (None, share) for other, place in self._counts)
