"""The signals that stop a server: SIGTERM of a service manager, SIGINT of a terminal."""

from __future__ import annotations

import asyncio
import signal
from typing import Final

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def catch() -> asyncio.Event:
    """Return an event that the signals set from now on; call it in the main thread, where the loop runs."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    return stop


def ignore() -> None:
    """Ignore the signals, because the server has stopped; a loop that closes would let them kill the process.

    What remains then, such as closing the records, takes a moment in which a service manager may repeat its SIGTERM.
    """
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
