"""What the panes of a window have loaded: each load runs in a thread, once, however many panes show its answer."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from attestlab import Lab
from attestlab_dashboards.pages import Pane

_THREADS: Final = ThreadPoolExecutor(16, thread_name_prefix="pane")
_LOADS_AT_ONCE: Final = 4  # of one window
_KEPT: Final = 64  # answers of a window; going Back shows them at once

Key = tuple[object, ...]
T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run work of a pane in one of the threads that all windows share."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)


class Answers:
    """The answers of one window, by the function that loads them and the parts of the state that it depends on."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._loading: OrderedDict[Key, asyncio.Task[Any]] = OrderedDict()
        self._slots = asyncio.Semaphore(_LOADS_AT_ONCE)

    async def load(self, pane: Pane[Any, Any], state: Any) -> Any:
        """Return the answer of a pane; a failed load is not kept.

        Raises:
            AttestLabError: the service refused, or failed.
        """
        key = _key_of(pane, state)
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.ensure_future(self._run(pane, state))
            task.add_done_callback(lambda done: self._forget_failed(key, done))
        self._loading.move_to_end(key)
        while len(self._loading) > _KEPT:
            self._loading.popitem(last=False)
        return await asyncio.shield(task)

    def forget(self, pane: Pane[Any, Any], state: Any) -> None:
        """Forget one answer, so that it is loaded again."""
        self._loading.pop(_key_of(pane, state), None)

    def clear(self) -> None:
        """Forget all answers: something was changed."""
        self._loading.clear()

    async def _run(self, pane: Pane[Any, Any], state: Any) -> Any:
        async with self._slots:
            return await run_in_thread(lambda: pane.load(self._lab, state))

    def _forget_failed(self, key: Key, done: asyncio.Task[Any]) -> None:
        if (done.cancelled() or done.exception() is not None) and self._loading.get(key) is done:
            del self._loading[key]


def _key_of(pane: Pane[Any, Any], state: Any) -> Key:
    return (pane.load, *(getattr(state, name) for name in pane.reads))
