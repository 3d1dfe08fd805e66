"""Event loops whose time a test decides, however long the machine takes: it passes by hand, or is never waited for."""

from __future__ import annotations

import asyncio
import selectors
import struct
import termios
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from fcntl import ioctl
from socket import socket

from support.timeouts import WAIT_TIMEOUT_S

STEP_S = 0.1
ROUNDS_A_STEP = 20  # of the loop, in which its tasks do what they can do by then


class HandClockLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock that stands still until another thread calls `pass_time`."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the time, in seconds since the loop was made."""
        return self._now_s

    def pass_time(self, seconds: float) -> None:
        """Let time pass, from another thread; returns when the loop's tasks have met each tenth of a second."""
        with suppress(CancelledError, RuntimeError):  # the loop has ended, so nothing is left that waits
            asyncio.run_coroutine_threadsafe(self._pass_time(max(1, round(seconds / STEP_S))), self).result()

    async def _pass_time(self, steps: int) -> None:
        for _ in range(steps):
            await self._run_rounds()
            self._now_s += STEP_S
        await self._run_rounds()

    async def _run_rounds(self) -> None:
        for _ in range(ROUNDS_A_STEP):
            await asyncio.sleep(0)


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop that never sleeps: where it has nothing to do until a timer, its time jumps to that."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_SkippingSelector(self))

    def time(self) -> float:
        """Return the time, in seconds since the loop was made."""
        return self.now_s


class _SkippingSelector(selectors.DefaultSelector):
    """Looks for what has come to the sockets without waiting for it."""

    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found:
            self._loop.now_s += timeout or 0
        return found


def wait_until_delivered(sender: socket) -> None:
    """Wait until the kernel has put all sent bytes into the queue that their receiver reads (tcp(7), SIOCOUTQ)."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while struct.unpack("i", ioctl(sender, termios.TIOCOUTQ, bytes(4)))[0]:
        if time.monotonic() > deadline:
            raise TimeoutError("the receiver has gone without reading")  # ends the thread that sends, as an OSError
        time.sleep(0.001)
