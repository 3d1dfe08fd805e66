"""Long work that must not run where other requests wait: it moves to a thread, and the caller retries.

A cache of compiled policies is read on the event loop and under the writer's lock. A miss may take half a second
there. So the code that fills the cache calls `require_long_work_allowed` first. If other requests wait for this
thread, that raises `TakesLong`, which carries the work to the callers that manage threads (`web.application` and
`server.write_queue`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attestlab.core.errors import Unavailable

_OTHERS_WAIT: ContextVar[bool] = ContextVar("others wait for this thread", default=False)


class TakesLong(Unavailable):
    """Long work was not started because other requests wait for this thread; run `work` in another, then retry."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__("This request needs long-running work. Retry in 1 second.")
        self.work = work


@contextmanager
def forbid_long_work() -> Iterator[None]:
    """Forbid long work in a block that runs on the event loop or under the writer's lock."""
    token = _OTHERS_WAIT.set(True)
    try:
        yield
    finally:
        _OTHERS_WAIT.reset(token)


def require_long_work_allowed(work: Callable[[], object]) -> None:
    """Require that no other request waits for this thread; call it before starting `work`.

    Raises:
        TakesLong: another request waits for this thread.
    """
    if _OTHERS_WAIT.get():
        raise TakesLong(work)
