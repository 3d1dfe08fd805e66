"""A few child processes of low priority, for work that would hold Python's interpreter lock for over 20 ms.

A thread is not enough for such work: whenever the event loop has waited for anything, it would wait up to five
milliseconds for the lock again, dozens of times for one mint. One tenant has one job under way; more of its jobs
wait in line. A job ends when its time is up or its client goes away: its process is killed, and another is started
when there is a next job.

Time is up after `timeout_s`, or on a busy machine when the process has had that much processor time, after four
times as long at the latest: processes of low priority get little of a machine that others use.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, Lock, Semaphore, Thread
from time import monotonic
from typing import IO, Any, TypeVar

from attestlab.core.errors import AttestLabError, Cancelled, Unavailable

MAX_PROCESSES = 2
MAX_WAITING = 16  # jobs of one tenant, the one under way included
IDLE_S = 60.0
MAX_SLOWDOWN = 4  # how many times `timeout_s` a job may take on a busy machine
LENGTH = struct.Struct(">Q")
_COMMAND = (
    sys.executable,
    "-P",
    "-m",
    "attestlab.core.execution.worker_main",
)  # -P: never a module from the current folder
_RETRY_AFTER_S = 5

Result = TypeVar("Result")
WhenGone = Callable[[Callable[[], None]], None]
"""Has a function called when the client is gone; at once where it is."""


class WorkerProcesses:
    """Runs functions of modules in child processes; `close` ends them.

    Jobs are handed in on an event loop. `_lock` protects `_idle`.
    """

    def __init__(self, processes: int = MAX_PROCESSES) -> None:
        self._threads = ThreadPoolExecutor(processes, "attestlab-workers")
        self._here = Semaphore(processes)
        self._idle: list[_Worker] = []
        self._lock = Lock()
        self._queues: dict[Hashable, _Queue] = {}

    async def run(
        self,
        tenant: Hashable,
        function: Callable[..., Result],
        *arguments: Any,
        timeout_s: float,
        on_disconnect: WhenGone | None = None,
    ) -> Result:
        """Call a module's function in a child process; its arguments and its result are pickled.

        Raises:
            AttestLabError: what the function raised.
            Unavailable: it took over `timeout_s`, too many jobs of the tenant wait, or its process died.
            Cancelled: the client went away.
        """
        queue = self._queues.setdefault(tenant, _Queue())
        if queue.jobs >= MAX_WAITING:
            raise Unavailable(
                f"{MAX_WAITING} large requests of this tenant wait already; try again in a few seconds.",
                retry_after_s=_RETRY_AFTER_S,
            )
        queue.jobs += 1
        try:
            async with queue.turn:
                job = _Job(pickle.dumps((function, arguments)), timeout_s)
                result: Result = await self._carry_out(job, on_disconnect)
                return result
        finally:
            queue.jobs -= 1
            if not queue.jobs:
                self._queues.pop(tenant, None)

    def run_here(self, function: Callable[..., Result], *arguments: Any, timeout_s: float) -> Result:
        """`run` for callers without an event loop; of many threads that call it, as many wait as have no process.

        Raises:
            AttestLabError: what the function raised.
            Unavailable: it took over `timeout_s`, or its process died.
        """
        job = _Job(pickle.dumps((function, arguments)), timeout_s)
        with self._here:
            result: Result = self._ask(job)
        return result

    async def _carry_out(self, job: _Job, on_disconnect: WhenGone | None) -> Any:
        loop = asyncio.get_running_loop()
        if on_disconnect is not None:
            on_disconnect(lambda: job.give_up(Cancelled("The client went away.")))
        try:
            return await loop.run_in_executor(self._threads, self._ask, job)
        except asyncio.CancelledError:
            job.give_up(Cancelled("The request was cancelled."))
            raise
        finally:
            loop.call_later(IDLE_S, self._end_idle)

    def _ask(self, job: _Job) -> Any:
        """Have a process do the job; in a thread, which only waits."""
        worker = self._take()
        try:
            answer = job.ask(worker)
        except (EOFError, OSError, struct.error):
            worker.end()
            raise job.reason or Unavailable("The work broke off; try again.") from None
        if worker.is_spent:
            worker.end()
        else:
            worker.used_at = monotonic()
            with self._lock:
                self._idle.append(worker)
        return answer()

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
                worker.end()
        return _Worker()

    def _end_idle(self, *, unused_s: float = IDLE_S) -> None:
        with self._lock:
            old = [each for each in self._idle if monotonic() - each.used_at >= unused_s]
            self._idle = [each for each in self._idle if each not in old]
        for worker in old:
            worker.end()

    def close(self) -> None:
        """End the processes; a job that is under way breaks off with its process's end at the latest."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end_idle(unused_s=0)


@dataclass
class _Queue:
    """The jobs of one tenant: one at a time, in the order in which they came."""

    jobs: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class _Job:
    """One function to be called; `reason` says why it was given up."""

    def __init__(self, message: bytes, timeout_s: float) -> None:
        self.reason: AttestLabError | None = None
        self._message = message
        self._timeout_s = timeout_s
        self._worker: _Worker | None = None
        self._lock = Lock()

    def give_up(self, reason: AttestLabError) -> None:
        """Kill the process that is at this job, if any is."""
        with self._lock:
            self.reason = self.reason or reason
            if self._worker is not None:
                self._worker.process.kill()

    def ask(self, worker: _Worker) -> Callable[[], Any]:
        """The answer of a process.

        Raises:
            EOFError, OSError: the process died, or was killed.
        """
        with self._lock:
            if self.reason is not None:
                raise EOFError
            self._worker = worker
        told = f"This took over {self._timeout_s:g} s; send less, or ask for less."
        give_up = partial(self.give_up, Unavailable(told, retry_after_s=_RETRY_AFTER_S))
        deadline = _Deadline(self._timeout_s, worker.process.pid, give_up)
        try:
            worker.send(self._message)
            return worker.receive()
        finally:
            deadline.cancel()
            with self._lock:
                self._worker = None


class _Deadline:
    """Calls `on_exceeded` once the time of a process is up, from a thread of its own, unless it is cancelled."""

    def __init__(self, timeout_s: float, pid: int, on_exceeded: Callable[[], None]) -> None:
        self._timeout_s, self._pid, self._on_exceeded = timeout_s, pid, on_exceeded
        self._started_at, self._used_before_s = monotonic(), processor_time_s(pid)
        self._cancelled = Event()
        Thread(target=self._watch, name="attestlab-deadline", daemon=True).start()

    def cancel(self) -> None:
        self._cancelled.set()

    def _watch(self) -> None:
        wait_s = self._timeout_s
        while not self._cancelled.wait(wait_s):
            if self._is_exceeded():
                self._on_exceeded()
                return
            wait_s = self._timeout_s / 10

    def _is_exceeded(self) -> bool:
        used_s = processor_time_s(self._pid) - self._used_before_s
        elapsed_s = monotonic() - self._started_at
        return used_s >= self._timeout_s or elapsed_s >= MAX_SLOWDOWN * self._timeout_s


def processor_time_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds (proc(5), utime and stime).

    A system without /proc has no such figure: the time since boot stands for it, so that time limits hold there too.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Worker:
    """One child process; it belongs to one job at a time."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.used_at = monotonic()
        self.is_spent = False

    def send(self, message: bytes) -> None:
        pipe = self._pipe(self.process.stdin)
        pipe.write(LENGTH.pack(len(message)) + message)
        pipe.flush()

    def receive(self) -> Callable[[], Any]:
        """What the function returned, or raised: it is raised when this is called."""
        pipe = self._pipe(self.process.stdout)
        (length,) = LENGTH.unpack(pipe.read(LENGTH.size))
        text = pipe.read(length)
        if len(text) < length:
            raise EOFError
        is_done, value, self.is_spent = pickle.loads(text)
        return partial(_result, is_done=is_done, value=value)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                self._pipe(pipe).close()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise EOFError
        return pipe


def _result(*, is_done: bool, value: Any) -> Any:
    if is_done:
        return value
    kind, message, members = value
    error: AttestLabError = kind.__new__(kind, message)  # its own constructor may want other arguments
    error.__dict__.update(members)
    raise error
