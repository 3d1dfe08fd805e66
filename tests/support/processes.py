"""Processes that a test knows by their numbers, which the system gives to others once they have ended."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager


class WatchedProcess:
    """A process whose end shows, whatever becomes of its number (pidfd_open(2))."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor

    def has_ended(self) -> bool:
        """Whether it has ended, even if its parent has not yet waited for it."""
        return bool(select.select([self._descriptor], [], [], 0)[0])


@contextmanager
def watch_process(pid: int) -> Iterator[WatchedProcess]:
    """Watch a process that certainly still runs."""
    descriptor = os.pidfd_open(pid)
    try:
        yield WatchedProcess(pid, descriptor)
    finally:
        os.close(descriptor)
