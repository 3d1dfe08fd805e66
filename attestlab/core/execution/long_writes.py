"""Long writes run in a child process, which commits them on a connection to the records that is its own.

A write that changes thousands of rows holds Python's interpreter lock for seconds. In a thread of the server it would
slow every read of other tenants: after each wait the event loop would need up to five milliseconds to get the lock
back. Writes of others wait for the writer's lock as long as this one holds it, so the process has normal priority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from types import MethodType
from typing import Final, NamedTuple, TypeVar, cast

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.execution.worker_processes import IDLE_S, WorkerProcesses

MAX_ROWS_INSIDE: Final = 200
"""A verb that changes the rows of more agents or delegations than this is a long write: each takes 0.25 ms."""
PROCESSOR_LIMIT_S: Final = 120.0

Result = TypeVar("Result")


class ChildCall(NamedTuple):
    """The call of a service's verb: the class of the service, the verb's name, its arguments, and the time."""

    service: type[object]
    verb: str
    arguments: Sequence[object]
    named: Mapping[str, object]
    at: datetime


Place = TypeVar("Place")
Perform = Callable[[Place, ChildCall], object]
"""Runs a verb in the child process: opens the records at the place, and commits. A module-level function."""


class LongWrites:
    """Runs verbs of services in a child process, one at a time: each has the writer's lock. For one event loop.

    Args:
        perform: runs a verb in the process.
        load: loads there what `perform` needs.
        place: what tells the process where the records are; it is pickled.
        storage: whose writers wait while the process writes.
        clock: which the process continues.
    """

    def __init__(
        self, perform: Perform[Place], load: Callable[[], None], place: Place, *, storage: Storage, clock: Clock
    ) -> None:
        self.workers = WorkerProcesses(processes=1, niceness=0)
        self._thread = ThreadPoolExecutor(1, "attestlab-long-writes")
        self._perform, self._load, self._place = perform, load, place
        self._storage, self._clock = storage, clock

    async def run(self, verb: partial[Result]) -> Result:
        """Run a verb of a service with its arguments; it commits a unit of work that it opens itself.

        `verb` is a `partial` of the service's method. Its arguments and its result are pickled.

        Raises:
            AttestLabError: raised by the verb.
            Unavailable: the records cannot be reached.
            WorkAborted: it took too long, or its process died.
        """
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._run_in_process, verb)
        finally:
            loop.call_later(IDLE_S, self.workers.end_idle)

    def warm_up(self) -> None:
        """Start the process, so that the next write does not wait two seconds for it."""
        self._thread.submit(self._start_process)
        asyncio.get_running_loop().call_later(IDLE_S, self.workers.end_idle)

    def _run_in_process(self, verb: partial[Result]) -> Result:
        """Run a verb; the writers of this process wait for it, but not for the start of the process."""
        self._start_process()
        method = cast(MethodType, verb.func)
        with self._storage.lend_writer():
            call = ChildCall(type(method.__self__), method.__name__, verb.args, verb.keywords, self._clock.now())
            done = self.workers.run_blocking(self._perform, self._place, call, timeout_s=PROCESSOR_LIMIT_S)
        return cast(Result, done)

    def _start_process(self) -> None:
        self.workers.run_blocking(self._load, timeout_s=PROCESSOR_LIMIT_S)

    async def aclose(self) -> None:
        """Wait for the accepted writes, then end the process.

        While the interpreter exits, no thread starts: then the process ends at once, and an open write changes nothing.
        """
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self.workers.close)
        except RuntimeError:
            self.workers.close()
        self._thread.shutdown(wait=False)
