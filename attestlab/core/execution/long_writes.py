"""Long writes run in a child process, which commits them on a connection to the records that is its own.

A write that changes thousands of rows holds Python's interpreter lock for seconds. In a thread of the server it would
slow every read of other tenants: after each wait the event loop would need up to five milliseconds to get the lock
back. Writes of others wait for the writer's lock as long as this one holds it, so the process has normal priority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeVar, cast

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable
from attestlab.core.execution.long_verbs import KeptCall, ServiceCall
from attestlab.core.execution.worker_processes import IDLE_S, WorkerProcesses

PROCESSOR_LIMIT_S: Final = 120.0
STOPPING: Final = "The server stops, and this write has not begun. Repeat the request later."

Result = TypeVar("Result")


class ChildCall(NamedTuple):
    """The call of a service's verb: the class of the service, the verb's name, its arguments, and the time.

    `key` is what the result is kept with, in the same transaction, so that a repeated request finds it.
    """

    service: type[object]
    verb: str
    arguments: Sequence[object]
    named: Mapping[str, object]
    at: datetime
    key: object = None


Place = TypeVar("Place")
Perform = Callable[[Place, ChildCall], object]
"""Runs a verb in the child process: opens the records at the place, and commits. A module-level function."""
Keep = Callable[[Transaction, object, KeptCall], None]
"""Keeps the result of a call with a key, in the transaction of the call."""


class KeyedTry(NamedTuple):
    """One try of a request with an idempotency key, and the call that an earlier try has committed."""

    key: object
    kept: KeptCall | None


_TRY: ContextVar[KeyedTry | None] = ContextVar(
    "the try of a request whose long writes keep their results", default=None
)


@contextmanager
def keep_results(keyed_try: KeyedTry | None) -> Iterator[None]:
    """Keep the results of the long writes of a block with the key of its request."""
    token = _TRY.set(keyed_try)
    try:
        yield
    finally:
        _TRY.reset(token)


class LongWrites:
    """Runs verbs of services in a child process, one at a time: each has the writer's lock. For one event loop.

    Args:
        perform: runs a verb in the process.
        load: loads there what `perform` needs.
        place: what tells the process where the records are; it is pickled.
        storage: whose writers wait while the process writes.
        clock: which the process continues.
        keep: keeps the result of a call that runs in a thread.
    """

    def __init__(
        self,
        perform: Perform[Place],
        load: Callable[[], None],
        place: Place,
        *,
        storage: Storage,
        clock: Clock,
        keep: Keep,
    ) -> None:
        self.workers = WorkerProcesses(processes=1, niceness=0)
        self._thread = ThreadPoolExecutor(1, "attestlab-long-writes")
        self._perform, self._load, self._place = perform, load, place
        self._storage, self._clock, self._keep = storage, clock, keep
        self._is_aborted = False

    async def run(self, verb: partial[Result]) -> Result:
        """Run a verb of a service with its arguments: in the child process if it is a long write, else in a thread.

        `verb` is a `partial` of the service's method, which is declared with `long_write`; it commits a unit of work
        that it opens itself. A dry run of a long write starts the process, so that the write does not wait for it.
        What an earlier try of the request has committed (`keep_results`) is not made again.

        Raises:
            AttestLabError: raised by the verb.
            Unavailable: the records cannot be reached.
            WorkAborted: it took too long, or its process died.
        """
        call, keyed_try = ServiceCall.of(verb), _TRY.get()
        if keyed_try is not None and keyed_try.kept is not None and keyed_try.kept.is_of(call):
            return cast(Result, keyed_try.kept.result)
        is_long = await asyncio.to_thread(self._is_long, call)
        if call.named.get("dry_run"):
            if is_long:
                self.warm_up()
            return await asyncio.to_thread(verb)
        key = None if keyed_try is None else keyed_try.key
        if is_long:
            return cast(Result, await self.run_apart(call, key=key))
        return await asyncio.to_thread(self._run_here, verb, call, key)

    def _run_here(self, verb: partial[Result], call: ServiceCall, key: object) -> Result:
        if key is None:
            return verb()
        with self._storage.write() as tx:
            result = verb(tx=tx)
            self._keep(tx, key, KeptCall(type(call.service), call.verb, result))
        return result

    def _is_long(self, call: ServiceCall) -> bool:
        with self._storage.read() as connection:
            return call.is_long(connection.execute)

    async def run_apart(self, call: ServiceCall, *, key: object = None) -> object:
        """Make a call of a service's verb in the child process. Its arguments and its result are pickled.

        With a `key` the process keeps the result in the transaction of the call.

        Raises:
            AttestLabError: raised by the verb.
            Unavailable: the records cannot be reached.
            WorkAborted: it took too long, or its process died.
        """
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._run_in_process, call, key)
        finally:
            loop.call_later(IDLE_S, self.workers.end_idle)

    def warm_up(self) -> None:
        """Start the process, so that the next write does not wait two seconds for it."""
        self._thread.submit(self._start_process)
        asyncio.get_running_loop().call_later(IDLE_S, self.workers.end_idle)

    def _run_in_process(self, call: ServiceCall, key: object) -> object:
        """Make a call; the writers of this process wait for it, but not for the start of the process."""
        self._start_process()
        with self._storage.lend_writer():
            self._require_begin()
            sent = ChildCall(type(call.service), call.verb, call.arguments, call.named, self._clock.now(), key)
            return self.workers.run_blocking(self._perform, self._place, sent, timeout_s=PROCESSOR_LIMIT_S)

    def _start_process(self) -> None:
        self._require_begin()
        self.workers.run_blocking(self._load, timeout_s=PROCESSOR_LIMIT_S)

    def _require_begin(self) -> None:
        if self._is_aborted:
            raise Unavailable(STOPPING)

    def abort(self) -> None:
        """Kill the process, because the server must stop: the write that it has begun is rolled back as a whole."""
        self._is_aborted = True
        self.workers.abort()

    async def aclose(self) -> None:
        """Wait for the accepted writes, then end the process.

        While the interpreter exits, no thread starts: then the process ends at once, and an open write changes nothing.
        """
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self.workers.close)
        except RuntimeError:
            self.workers.close()
        self._thread.shutdown(wait=False)
