"""Batch sizes for a backlog that is processed between requests."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

MAX_CREDIT_S = 0.1  # unused capacity older than this is discarded


class BacklogPacer:
    """Computes batch sizes that average `per_second` items and keep every batch short.

    A large batch delays every request queued behind it. So the pacer uses `max_batch` when the queue is empty,
    reduces it by `reduction_per_waiter` for each queued request, and never goes below `min_batch`.
    """

    def __init__(
        self,
        per_second: float,
        *,
        min_batch: int,
        max_batch: int,
        reduction_per_waiter: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._per_second = per_second
        self._min_batch, self._max_batch, self._reduction = min_batch, max_batch, reduction_per_waiter
        self._clock = clock
        self._last = clock() - MAX_CREDIT_S
        self._due = 0.0

    def batch_size(self, queued: int) -> int:
        """Return the size of the next batch, given the number of queued requests."""
        now = self._clock()
        self._due = min(self._due + (now - self._last) * self._per_second, MAX_CREDIT_S * self._per_second)
        self._last = now
        size = int(max(self._min_batch, min(self._due, self._max_batch - self._reduction * queued)))
        self._due = max(0.0, self._due - size)  # a batch larger than was due leaves no debt: there was time for it
        return size
