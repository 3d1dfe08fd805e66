"""A pool of low-priority child processes, for work that would hold Python's interpreter lock for over 20 ms.

A thread is not enough for such work: after each wait the event loop would need up to five milliseconds to get the
lock back, dozens of times for one mint. Each tenant runs as many jobs at once as its pool allows, one by default; its
further jobs are queued. When a job exceeds its time or its client disconnects, its process is killed; the next job
starts another process.

A job exceeds its time when its process has used `timeout_s` of processor time, and at the latest after four times
`timeout_s` of elapsed time: on a busy machine, low-priority processes get little processor time.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Lock, Semaphore, Thread
from time import monotonic
from typing import IO, Any, Generic, TypeVar

from attestlab.core.errors import AttestLabError, Cancelled, Unavailable, WorkAborted

MAX_PROCESSES = 2
MAX_WAITING = 16  # jobs of one tenant, including the running one
IDLE_S = 300.0  # a person who looks at a dashboard for minutes does not wait for another process to start
MAX_PIECES_AHEAD = 8  # of a stream, taken from its process before the client has received them
MAX_SLOWDOWN = 4  # how many times `timeout_s` a job may take on a busy machine
LENGTH = struct.Struct(">Q")
_COMMAND = (
    sys.executable,
    "-P",
    "-m",
    "attestlab.core.execution.worker_main",
)  # -P: never load a module from the current folder
_RETRY_AFTER_S = 5

Result = TypeVar("Result")
OnDisconnect = Callable[[Callable[[], None]], None]
"""Registers a function to call when the client disconnects; calls it immediately if it already has."""


class WorkerProcesses:
    """Runs module-level functions in child processes; `close` ends them.

    `run` is called on an event loop. `_lock` protects `_idle`.

    Args:
        processes: how many jobs run at once.
        of_a_tenant: how many of them may be of one tenant, fewer than `processes`, so that no tenant waits for another.
    """

    def __init__(self, processes: int = MAX_PROCESSES, *, of_a_tenant: int = 1) -> None:
        self._threads = ThreadPoolExecutor(processes, "attestlab-workers")
        self._blocking_slots = Semaphore(processes)
        self._idle: list[_Worker] = []
        self._lock = Lock()
        self._queues: dict[Hashable, _Queue] = {}
        self._of_a_tenant = of_a_tenant

    async def run(
        self,
        tenant: Hashable,
        function: Callable[..., Result],
        *arguments: object,
        timeout_s: float,
        on_disconnect: OnDisconnect | None = None,
    ) -> Result:
        """Call a module-level function in a child process; its arguments and its result are pickled.

        Raises:
            AttestLabError: raised by the function.
            WorkAborted: it took over `timeout_s`, or its process died.
            Unavailable: too many jobs of the tenant are queued.
            Cancelled: the client disconnected.
        """
        return await self._run_in_turn(tenant, _Job[Result](function, arguments, timeout_s), on_disconnect)

    async def stream(
        self,
        tenant: Hashable,
        function: Callable[..., Generator[bytes]],
        *arguments: object,
        timeout_s: float,
        on_disconnect: OnDisconnect | None = None,
    ) -> AsyncGenerator[bytes]:
        """Yield what a module-level generator function yields in a child process, as in `run`.

        The process waits while `MAX_PIECES_AHEAD` pieces are not received, and is killed if the generator is closed.

        Raises:
            AttestLabError, WorkAborted, Unavailable, Cancelled: see `run`; perhaps after some pieces.
        """
        pieces = _PieceQueue(asyncio.get_running_loop())
        job = _Job[None](function, arguments, timeout_s, pieces)
        running = asyncio.create_task(self._run_in_turn(tenant, job, on_disconnect))
        running.add_done_callback(lambda _: pieces.end())
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await running
        finally:
            job.cancel(Cancelled("The client disconnected."))
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # retrieves it, because a client that left does not

    async def _run_in_turn(self, tenant: Hashable, job: _Job[Result], on_disconnect: OnDisconnect | None) -> Result:
        """Run a job after those of the same tenant."""
        queue = self._queues.setdefault(tenant, _Queue(asyncio.Semaphore(self._of_a_tenant)))
        if queue.jobs >= MAX_WAITING:
            raise Unavailable(
                f"Too many large requests of this tenant are queued (limit {MAX_WAITING}). "
                f"Retry in {_RETRY_AFTER_S} seconds.",
                retry_after_s=_RETRY_AFTER_S,
            )
        queue.jobs += 1
        try:
            async with queue.turn:
                return await self._run_job(job, on_disconnect)
        finally:
            queue.jobs -= 1
            if not queue.jobs:
                self._queues.pop(tenant, None)

    def run_blocking(self, function: Callable[..., Result], *arguments: object, timeout_s: float) -> Result:
        """Do the same as `run` for callers without an event loop; blocks until a process is free.

        Raises:
            AttestLabError: raised by the function.
            WorkAborted: it took over `timeout_s`, or its process died.
        """
        job = _Job[Result](function, arguments, timeout_s)
        with self._blocking_slots:
            return self._execute(job)

    async def _run_job(self, job: _Job[Result], on_disconnect: OnDisconnect | None) -> Result:
        loop = asyncio.get_running_loop()
        if on_disconnect is not None:
            on_disconnect(lambda: job.cancel(Cancelled("The client disconnected.")))
        try:
            return await loop.run_in_executor(self._threads, self._execute, job)
        except asyncio.CancelledError:
            job.cancel(Cancelled("The request was cancelled."))
            raise
        finally:
            loop.call_later(IDLE_S, self._end_idle)

    def _execute(self, job: _Job[Result]) -> Result:
        """Run the job in a child process; called in a thread, which only waits."""
        worker = self._take_worker()
        try:
            get_result = job.execute(worker)
        except (EOFError, OSError, struct.error):
            worker.end()
            raise job.reason or WorkAborted("The process of this work died. Retry the request.") from None
        if worker.is_spent:
            worker.end()
        else:
            worker.used_at = monotonic()
            with self._lock:
                self._idle.append(worker)
        return get_result()

    def _take_worker(self) -> _Worker:
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
        """End the processes; a running job fails at the latest when its process ends."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end_idle(unused_s=0)


@dataclass
class _Queue:
    """The jobs of one tenant: a few at a time, in the order of arrival."""

    turn: asyncio.Semaphore
    jobs: int = 0


class _PieceQueue:
    """The pieces of one stream, from the thread that reads them from the process to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._free = Semaphore(MAX_PIECES_AHEAD)
        self._is_closed = False

    def put(self, piece: bytes) -> None:
        """Add a piece; the thread waits while the queue is full and open."""
        if not self._is_closed:
            self._free.acquire()
        if not self._is_closed:
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)

    async def get(self) -> bytes | None:
        """Take the next piece; None is the end."""
        piece = await self._pieces.get()
        self._free.release()
        return piece

    def end(self) -> None:
        self._pieces.put_nowait(None)

    def close(self) -> None:
        """Accept no further piece, and let the thread continue; any thread may call it."""
        self._is_closed = True
        self._free.release()


class _Job(Generic[Result]):
    """One function call, whose pieces, if it yields some, go to a queue.

    `reason` is the error with which it was cancelled.
    """

    def __init__(
        self,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        timeout_s: float,
        pieces: _PieceQueue | None = None,
    ) -> None:
        self.reason: AttestLabError | None = None
        self._pieces = pieces
        self._message = pickle.dumps((function, arguments))
        self._timeout_s = timeout_s
        self._worker: _Worker | None = None
        self._lock = Lock()

    def cancel(self, reason: AttestLabError) -> None:
        """Kill the process that runs this job, if there is one."""
        with self._lock:
            self.reason = self.reason or reason
            if self._worker is not None:
                self._worker.process.kill()
        if self._pieces is not None:
            self._pieces.close()

    def execute(self, worker: _Worker) -> Callable[[], Result]:
        """Send the job to a process and wait; returns a function that returns or raises the result.

        Raises:
            EOFError, OSError: the process died, or was killed.
        """
        with self._lock:
            if self.reason is not None:
                raise EOFError
            self._worker = worker
        too_long = f"The request took over {self._timeout_s:g} s. Send or request less data."
        cancel = partial(self.cancel, WorkAborted(too_long, retry_after_s=_RETRY_AFTER_S))
        deadline = _Deadline(self._timeout_s, worker.process.pid, cancel)
        try:
            worker.send(self._message)
            return self._receive_result(worker)
        finally:
            deadline.cancel()
            with self._lock:
                self._worker = None

    def _receive_result(self, worker: _Worker) -> Callable[[], Result]:
        message = worker.receive()
        while isinstance(message, bytes):
            if self._pieces is None:
                raise EOFError
            self._pieces.put(message)
            message = worker.receive()
        is_done, value, worker.is_spent = message
        return partial(_result, is_done=is_done, value=value)


class _Deadline:
    """Calls `on_exceeded` from a separate thread when a process exceeds its time, unless it is cancelled."""

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

    A system without /proc does not provide it; the monotonic clock is used instead, so that time limits still apply.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_process() -> subprocess.Popen[bytes]:
    """Start a child process that takes jobs from its stdin and writes results to its stdout."""
    return subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class _Worker:
    """One child process; it belongs to one job at a time."""

    def __init__(self) -> None:
        self.process = start_process()
        self.used_at = monotonic()
        self.is_spent = False

    def send(self, message: bytes) -> None:
        pipe = self._pipe(self.process.stdin)
        pipe.write(LENGTH.pack(len(message)) + message)
        pipe.flush()

    def receive(self) -> Any:  # of pickle
        """Read the next message: a piece, or the result."""
        pipe = self._pipe(self.process.stdout)
        (length,) = LENGTH.unpack(pipe.read(LENGTH.size))
        text = pipe.read(length)
        if len(text) < length:
            raise EOFError
        return pickle.loads(text)

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


def _result(*, is_done: bool, value: Any) -> Any:  # of pickle
    if is_done:
        return value
    kind, message, members = value
    error: AttestLabError = kind.__new__(kind, message)  # its constructor may take other arguments
    error.__dict__.update(members)
    raise error
