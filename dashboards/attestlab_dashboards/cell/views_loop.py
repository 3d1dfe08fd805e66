"""The event loop of all views of this process, in a thread: a view answers also while a cell of the notebook runs."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@cache
def get_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, which runs until the process ends."""
    loop = asyncio.new_event_loop()
    _find_thread_class()(target=loop.run_forever, name="attestlab-views", daemon=True).start()
    return loop


def begin(work: Callable[[], Coroutine[object, object, T]]) -> Future[T]:
    """Begin a coroutine on the loop, from any thread."""
    return asyncio.run_coroutine_threadsafe(work(), get_loop())


def call(work: Callable[[], T]) -> T:
    """Call a function on the loop, and wait for what it returns; on the loop itself, at once."""
    loop = get_loop()
    if _is_running(loop):
        return work()

    async def run() -> T:
        return work()

    return asyncio.run_coroutine_threadsafe(run(), loop).result()


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _find_thread_class() -> type[threading.Thread]:
    """Find the kind of thread that may send messages: marimo has one that knows its notebook."""
    marimo = sys.modules.get("marimo")
    return threading.Thread if marimo is None else marimo.Thread
