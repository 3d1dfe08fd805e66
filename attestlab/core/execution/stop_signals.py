"""The signals that stop a server, its workers and its children: SIGTERM of a service manager, SIGINT of a terminal."""

from __future__ import annotations

import asyncio
import signal
from types import FrameType
from typing import Final

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def catch() -> asyncio.Event:
    """Return an event that the signals set from now on; call it in the main thread, where the loop runs.

    The loop's signal handlers would restore the default one, which kills, before `ignore` could replace it.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    for number in STOP_SIGNALS:
        signal.signal(number, on_signal)
    return stop


def ignore() -> None:
    """Ignore the signals: in a server that has stopped, and in a child, which its parent stops.

    What remains to a server then, such as closing the records, takes a moment in which a service manager may repeat
    its SIGTERM. A signal to the whole group of processes stops the parent, and the parent its children.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
