"""Shared reads: those that wait for a thread share its next snapshot of the records.

It is the group commit of reads. Under load many requests ask for the same caller or key, and on PostgreSQL each
snapshot costs three messages. A snapshot begins after its reads were asked for, so what they see is no older than if
each had one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")
ShareReads = Callable[[], AbstractContextManager[None]]
"""Opens a block in which the reads of a thread share a snapshot and the counts of limits."""


class SharedReads:
    """Runs reads in a few threads. `_lock` protects the queue and the number of threads that work on it.

    Each read may wait for those of its snapshot, so they must be short.
    """

    def __init__(self, threads: int, share_reads: ShareReads) -> None:
        self._max_threads = threads
        self._pool = ThreadPoolExecutor(threads, "attestlab-shared-reads")
        self._share_reads = share_reads
        self._waiting: deque[Callable[[], None]] = deque()
        self._working = 0
        self._lock = Lock()

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a read in a thread, together with others that wait."""
        future: Future[Result] = Future()
        with self._lock:
            self._waiting.append(partial(_run, future, partial(function, *arguments)))
            needs_thread = self._working < self._max_threads
            self._working += needs_thread
        if needs_thread:
            self._pool.submit(self._work)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Shut down the threads."""
        self._pool.shutdown(wait=False)

    def _work(self) -> None:
        """Run all reads that wait with one snapshot, until none waits."""
        while reads := self._take_waiting():
            with suppress(Exception), self._share_reads():  # the snapshot of a lost connection may fail to end
                for read in reads:
                    read()

    def _take_waiting(self) -> list[Callable[[], None]]:
        """Take all reads that wait; if there are none, the thread stops working."""
        with self._lock:
            reads = list(self._waiting)
            self._waiting.clear()
            self._working -= not reads
        return reads


def _run(future: Future[Result], read: Callable[[], Result]) -> None:
    """Run a read for its caller, unless the caller has left."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(read())
    except BaseException as error:  # the caller gets it
        future.set_exception(error)
