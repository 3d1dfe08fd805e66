"""Supervisor of an event loop's background tasks: logs a task that ends and restarts it after a growing pause.

From its failure until its next completed round a task counts as down, which `/readyz` reports as `background`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from attestlab.core.errors import Unavailable
from attestlab.web import logging_setup

MIN_PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
CANCEL_TIMEOUT_S = 2.0  # a cancelled task ends within milliseconds, unless it has a defect

Round = Callable[[], None]
Work = Callable[[Round], Awaitable[None]]
"""A background task: it calls its argument after each round that it completed, and returns only when it has to stop."""


class Supervisor:
    """Starts background tasks; each is ended by its own `finish`. Call every method on the event loop."""

    def __init__(self, *, min_pause_s: float = MIN_PAUSE_S, max_pause_s: float = MAX_PAUSE_S) -> None:
        self._pauses = min_pause_s, max_pause_s
        self._tasks: list[Supervised] = []

    def start(self, name: str, work: Work) -> Supervised:
        """Start `work`; `name` identifies it in the log and at `/readyz`."""
        task = Supervised(name, work, *self._pauses)
        self._tasks.append(task)
        return task

    def check(self) -> None:
        """Require every task to be running, with a completed round since its last failure.

        Raises:
            Unavailable: a task has failed and not completed a round since.
        """
        down = [f"{task.name} ({task.failure})" for task in self._tasks if task.failure is not None]
        if down:
            raise Unavailable(
                f"Background tasks failed and are restarted: {', '.join(down)}. See the log for the cause."
            )


class Supervised:
    """One background task. `failure` is the class name of the error that ended it, or None while it works."""

    def __init__(self, name: str, work: Work, min_pause_s: float, max_pause_s: float) -> None:
        self.name = name
        self.failure: str | None = None
        self._work = work
        self._min_pause_s, self._max_pause_s = min_pause_s, max_pause_s
        self._pause_s = min_pause_s
        self._stopping = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=name)

    async def finish(self, *, within_s: float) -> None:
        """Let the task end by itself within `within_s` seconds, then cancel it; it is not restarted.

        A task that does not end within `CANCEL_TIMEOUT_S` of its cancellation is logged and left behind, because a
        server that waits for it would never stop.
        """
        self._stopping.set()
        if within_s:
            await asyncio.wait([self._task], timeout=within_s)
        self._task.cancel()
        _, running = await asyncio.wait([self._task], timeout=CANCEL_TIMEOUT_S)
        if running:
            logging_setup.log_warning("task did not end", part=self.name, waited_s=CANCEL_TIMEOUT_S)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._work(self._complete_round)
                error: BaseException = RuntimeError("the task returned")
            except asyncio.CancelledError as cancelled:
                if _is_cancelled():
                    raise
                error = cancelled  # of something that the task awaited
            except Exception as fault:
                error = fault
            if not self._stopping.is_set():
                await self._pause_after(error)

    async def _pause_after(self, error: BaseException) -> None:
        self.failure = type(error).__name__
        logging_setup.log_part_failure(error, part=self.name)
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, self._max_pause_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()

    def _complete_round(self) -> None:
        self.failure = None
        self._pause_s = self._min_pause_s


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
