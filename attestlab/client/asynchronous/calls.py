"""Verbs of the facade for an event loop: each runs in a worker thread, and its requests and waits on the loop.

So every verb is written once. A task that is cancelled while it awaits a verb breaks off the request that the thread
waits for, or interrupts the query that it runs, and the verb sends no other one. What computes, such as hashing a file,
never holds up the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from threading import Lock
from typing import Final, TypeVar

from attestlab.core.errors import Conflict

Result = TypeVar("Result")

MAX_CONCURRENT_VERBS: Final = 32  # of one connection; further ones wait for a thread
_INTERRUPT_INTERVAL_S: Final = 0.01  # an interrupt just before a query begins has no effect, so it is repeated

_running: ContextVar[VerbCall | None] = ContextVar("attestlab_running_verb", default=None)


class VerbCancelled(Exception):
    """The task that awaited a verb was cancelled; it ends the verb in its thread, and no caller meets it."""


class VerbCall:
    """One verb in a worker thread, what it waits for on the loop, and how to interrupt what it computes.

    The lock protects these members: the loop cancels while the thread begins to wait or to compute.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = Lock()
        self._cancel_pending: Callable[[], bool] | None = None
        self._interrupts: list[Callable[[], None]] = []
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether the task that awaited the verb was cancelled."""
        return self._is_cancelled

    def run(self, work: Callable[[], Result]) -> Result:
        """Run the verb in this thread."""
        token = _running.set(self)
        try:
            return work()
        finally:
            _running.reset(token)
            with self._lock:
                self._interrupts.clear()  # an iterator that was left early may still hold one

    def wait_for(self, work: Coroutine[object, object, Result]) -> Result:
        """Run a coroutine on the loop, and wait for its result in this thread.

        Raises:
            VerbCancelled: the task that awaited the verb was cancelled.
        """
        with self._lock:
            if self._is_cancelled:
                work.close()
                raise VerbCancelled("The verb was cancelled.")
            pending = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._cancel_pending = pending.cancel
        try:
            return pending.result()
        except CancelledError:
            raise VerbCancelled("The verb was cancelled.") from None

    @contextmanager
    def let_cancel(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Let `cancel` interrupt what this thread computes in the block.

        Raises:
            VerbCancelled: the task that awaited the verb was cancelled.
        """
        with self._lock:
            if self._is_cancelled:
                raise VerbCancelled("The verb was cancelled.")
            self._interrupts.append(interrupt)
        try:
            yield
        except Exception as error:
            if self._is_cancelled:
                raise VerbCancelled("The verb was cancelled.") from error
            raise
        finally:
            with self._lock, suppress(ValueError):  # the verb has ended
                self._interrupts.remove(interrupt)

    def cancel(self) -> None:
        """Break off what the verb waits for or computes, and let it wait for nothing more. The loop calls this."""
        with self._lock:
            self._is_cancelled = True
            if self._cancel_pending is not None:
                self._cancel_pending()
        self._interrupt()

    def _interrupt(self) -> None:
        with self._lock:
            for interrupt in self._interrupts:
                interrupt()
            if self._interrupts:
                self._loop.call_later(_INTERRUPT_INTERVAL_S, self._interrupt)


class VerbThreads:
    """The worker threads of one connection, which belongs to the event loop that opened it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_VERBS, thread_name_prefix="attestlab-verb")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run a verb in a thread.

        Raises:
            Conflict: the lab is closed, or belongs to another event loop.
        """
        if asyncio.get_running_loop() is not self.loop:
            raise Conflict("This lab belongs to another event loop. Connect once in each loop.")
        call = VerbCall(self.loop)
        running = self._begin(call, work)
        try:
            return await running
        except asyncio.CancelledError:
            call.cancel()
            raise

    def close(self) -> None:
        """Let idle threads end; a verb that is at work ends with its next request."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, call: VerbCall, work: Callable[[], Result]) -> asyncio.Future[Result]:
        try:
            return self.loop.run_in_executor(self._threads, call.run, work)
        except RuntimeError:
            raise Conflict("This lab is closed. Connect again, or use it inside its `async with` block.") from None


def wait_on_loop(work: Coroutine[object, object, Result]) -> Result:
    """Wait for a coroutine in the thread of a verb.

    Raises:
        Conflict: this is no such thread, so waiting would stop the loop.
    """
    call = _running.get()
    if call is None:
        work.close()
        raise Conflict("An object of an async lab was used without `await`. Await its verb.")
    return call.wait_for(work)


def wait_for_answer(pending: Future[Result]) -> Result:
    """Wait for what another thread computes; in the thread of a verb, only until the verb is cancelled.

    Raises:
        VerbCancelled: the task that awaited the verb was cancelled.
    """
    call = _running.get()
    return pending.result() if call is None else call.wait_for(_await(pending))


def let_cancel(interrupt: Callable[[], None]) -> AbstractContextManager[None]:
    """In the thread of a verb, let its cancellation interrupt what the block computes, such as a query.

    Raises:
        VerbCancelled: the verb was cancelled before or in the block.
    """
    call = _running.get()
    return nullcontext() if call is None else call.let_cancel(interrupt)


async def _await(pending: Future[Result]) -> Result:
    return await asyncio.shield(asyncio.wrap_future(pending))


def sleep_on_loop(pause_s: float) -> None:
    """Wait for some time in the thread of a verb; the wait ends at once when the verb is cancelled."""
    wait_on_loop(asyncio.sleep(pause_s))


def is_in_verb() -> bool:
    """Whether this is the thread of a verb, which waits on its loop."""
    return _running.get() is not None


def is_waiting_possible() -> bool:
    """Whether this is the thread of a verb that was not cancelled."""
    call = _running.get()
    return call is not None and not call.is_cancelled
