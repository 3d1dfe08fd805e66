"""Progress of an operation: nested steps, of which the innermost is one query whose progress DuckDB estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

MAX_ESTIMATE = 0.99  # 1 means completed, which an estimate cannot show


@dataclass(slots=True)
class _Step:
    """A part of the whole, `start` to `end`, in `steps` steps."""

    start: float
    end: float
    steps: int
    done: int = 0

    def position(self, inner: float) -> float:
        """The place that is reached; more steps than were announced are all the last."""
        return self.start + (self.end - self.start) * (min(self.done, self.steps - 1) + inner) / self.steps


class Progress:
    """The progress of one operation from 0 to 1, never decreasing; written by one thread, read by any."""

    def __init__(self, query_progress: Callable[[], float]) -> None:
        self._query_progress = query_progress
        self._runs: list[_Step] = []
        self._is_query_running = False
        self._fraction = 0.0
        self._lock = Lock()  # a slow reader must not carry one operation's progress into the next

    @property
    def fraction(self) -> float:
        """The completed fraction, 0 to 1."""
        with self._lock:
            if self._runs:
                inner = min(1.0, max(0.0, self._query_progress() / 100)) if self._is_query_running else 0.0
                self._fraction = max(self._fraction, min(MAX_ESTIMATE, self._runs[-1].position(inner)))
            return self._fraction

    @contextmanager
    def track(self, steps: int, *, is_query: bool = False) -> Iterator[None]:
        """Track an operation, or a step of the running one, with `steps` steps. After a failure the progress stays
        unchanged.
        """
        self._begin(max(1, steps), is_query)
        is_done = False
        try:
            yield
            is_done = True
        finally:
            self._end(is_done)

    def _begin(self, steps: int, is_query: bool) -> None:
        with self._lock:
            if self._runs:
                outer = self._runs[-1]
                self._runs.append(_Step(outer.position(0.0), outer.position(1.0), steps))
            else:
                self._runs, self._fraction = [_Step(0.0, 1.0, steps)], 0.0
            self._is_query_running = is_query

    def _end(self, is_done: bool) -> None:
        with self._lock:
            self._is_query_running = False
            ended = self._runs.pop()
            if not is_done:
                return
            if self._runs:
                self._runs[-1].done += 1
                self._fraction = max(self._fraction, min(MAX_ESTIMATE, ended.end))
            else:
                self._fraction = 1.0
