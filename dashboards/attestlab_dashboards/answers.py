"""What the panes of a window have loaded: each load runs in a thread, once, however many panes show its answer.

A load of a page with long work can be cancelled: its requests run on the event loop, which breaks them off.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCall, VerbCancelled
from attestlab_dashboards.pages import AnyPane

_THREADS: Final = ThreadPoolExecutor(16, thread_name_prefix="pane")
_LOADS_AT_ONCE: Final = 4  # of one window
_KEPT: Final = 64  # answers of a window; going Back shows them at once

Key = tuple[object, ...]
T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run work of a pane in one of the threads that all windows share."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)


async def run_verb(work: Callable[[], T]) -> T:
    """Run work that asks the service in one of these threads; the requests of a cancellable lab run on this loop."""
    call = VerbCall(asyncio.get_running_loop())
    return await run_in_thread(lambda: call.run(work))


class Answers:
    """The answers of one window, by the function that loads them and the parts of the state that it depends on."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._loading: OrderedDict[Key, asyncio.Task[Any]] = OrderedDict()
        self._slots = asyncio.Semaphore(_LOADS_AT_ONCE)
        self._calls: set[VerbCall] = set()
        self._cancellations = 0

    async def load(self, pane: AnyPane, state: Any) -> Any:
        """Return the answer of a pane; a failed load is not kept.

        Raises:
            AttestLabError: the service refused, or failed.
            VerbCancelled: `cancel` was called before the answer came.
        """
        key = key_of(pane, state)
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.ensure_future(self._run(pane, state))
            task.add_done_callback(lambda done: self._forget_failed(key, done))
        self._loading.move_to_end(key)
        while len(self._loading) > _KEPT:
            self._loading.popitem(last=False)
        return await asyncio.shield(task)

    def forget(self, pane: AnyPane, state: Any) -> None:
        """Forget one answer, so that it is loaded again."""
        self._loading.pop(key_of(pane, state), None)

    def clear(self) -> None:
        """Forget all answers: something was changed."""
        self._loading.clear()

    def cancel(self) -> None:
        """Break off all loads, also those that wait; the service ends what it computes for them."""
        self._cancellations += 1
        for call in self._calls:
            call.cancel()

    async def _run(self, pane: AnyPane, state: Any) -> Any:
        cancellations = self._cancellations
        async with self._slots:
            if cancellations != self._cancellations:
                raise VerbCancelled("The load was cancelled before it began.")
            return await self._ask(pane, state)

    async def _ask(self, pane: AnyPane, state: Any) -> Any:
        call = VerbCall(asyncio.get_running_loop())
        self._calls.add(call)
        try:
            return await run_in_thread(lambda: call.run(lambda: self._load(pane, state)))
        finally:
            self._calls.discard(call)

    def _load(self, pane: AnyPane, state: object) -> object:
        """Load in a thread."""
        return pane.load(self._lab, state)

    def _forget_failed(self, key: Key, done: asyncio.Task[Any]) -> None:
        if (done.cancelled() or done.exception() is not None) and self._loading.get(key) is done:
            del self._loading[key]


def key_of(pane: AnyPane, state: Any) -> Key:
    """Return what the answer of a pane depends on; panes with the same key show the same answer."""
    return (pane.load, *(getattr(state, name) for name in pane.reads))
