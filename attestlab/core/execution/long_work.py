"""Long work that is noticed only where other requests wait: it moves to a thread, and the caller repeats.

A cache of compiled policies is read on the event loop and under the writer's lock. A miss may take half a second
there. So the code behind the cache calls `keep_others_waiting` before it begins: where other requests wait for this
thread, that raises `TakesLong`, which carries the work to the one place that knows threads (`web.application`, `desk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attestlab.core.errors import Unavailable

_OTHERS_WAIT: ContextVar[bool] = ContextVar("others wait for this thread", default=False)


class TakesLong(Unavailable):
    """Work was not begun because other requests wait for this thread; call `work` in another one, then repeat."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__("This needs work that takes long; try again in a second.")
        self.work = work


@contextmanager
def others_wait() -> Iterator[None]:
    """Mark a block on the event loop or under the writer's lock."""
    token = _OTHERS_WAIT.set(True)
    try:
        yield
    finally:
        _OTHERS_WAIT.reset(token)


def keep_others_waiting(work: Callable[[], object]) -> None:
    """Return where no other request waits for this thread.

    Raises:
        TakesLong: another does.
    """
    if _OTHERS_WAIT.get():
        raise TakesLong(work)
