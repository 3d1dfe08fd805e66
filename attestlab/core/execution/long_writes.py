"""Long writes run in a child process, which commits them on a connection to the records that is its own.

A write that changes thousands of rows holds Python's interpreter lock for seconds. In a thread of the server it would
slow every read of other tenants: after each wait the event loop would need up to five milliseconds to get the lock
back. Writes of others wait for the writer's lock as long as this one holds it, so the process has normal priority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from types import MethodType
from typing import Final, NamedTuple, TypeVar, cast

from attestlab.core.clock import Clock
from attestlab.core.errors import AttestLabError
from attestlab.core.execution.worker_processes import WorkerProcesses

MAX_ROWS_INSIDE: Final = 200
"""A verb that changes the rows of more agents or delegations than this is a long write: each takes 0.25 ms."""
PROCESSOR_LIMIT_S: Final = 120.0
WARM_UP_LIMIT_S: Final = 30.0

Result = TypeVar("Result")


class VerbCall(NamedTuple):
    """The call of a service's verb: the class of the service, the verb's name, its arguments, and the time."""

    service: type[object]
    verb: str
    arguments: Sequence[object]
    named: Mapping[str, object]
    at: datetime


Place = TypeVar("Place")
Perform = Callable[[Place, VerbCall], object]
"""Runs a verb in the child process: opens the records at the place, and commits. A module-level function."""


class LongWrites:
    """Runs verbs of services in a child process, one at a time: each has the writer's lock. For one event loop.

    Args:
        perform: runs a verb in the process.
        load: loads there what `perform` needs.
        place: what tells the process where the records are; it is pickled.
        clock: which the process continues.
    """

    def __init__(self, perform: Perform[Place], load: Callable[[], None], place: Place, *, clock: Clock) -> None:
        self.workers = WorkerProcesses(processes=1, niceness=0)
        self._perform, self._load, self._place, self._clock = perform, load, place, clock
        self._warming_up: asyncio.Task[None] | None = None

    async def run(self, tenant: Hashable, verb: partial[Result]) -> Result:
        """Run a verb of a service with its arguments; it commits a unit of work that it opens itself.

        `verb` is a `partial` of the service's method. Its arguments and its result are pickled.

        Raises:
            AttestLabError: raised by the verb.
            Unavailable: the records cannot be reached, or too many writes of the tenant are queued.
            WorkAborted: it took too long, or its process died.
        """
        method = cast(MethodType, verb.func)
        call = VerbCall(type(method.__self__), method.__name__, verb.args, verb.keywords, self._clock.now())
        done = await self.workers.run(tenant, self._perform, self._place, call, timeout_s=PROCESSOR_LIMIT_S)
        return cast(Result, done)

    def warm_up(self) -> None:
        """Start the process, so that the next write does not wait two seconds for it."""
        if self._warming_up is None or self._warming_up.done():
            self._warming_up = asyncio.get_running_loop().create_task(self._start_process())

    async def _start_process(self) -> None:
        with suppress(AttestLabError):  # the next write says why
            await self.workers.run("warm-up", self._load, timeout_s=WARM_UP_LIMIT_S)

    def close(self) -> None:
        """End the process; a write that it has not committed changes nothing."""
        if self._warming_up is not None:
            self._warming_up.cancel()
        self.workers.close()
