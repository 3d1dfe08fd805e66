"""A pool of child processes for work that would hold Python's interpreter lock for over 20 ms; most have low priority.

A thread is not enough for such work: after each wait the event loop would need up to five milliseconds to get the
lock back, dozens of times for one mint. Each tenant runs as many jobs at once as its pool allows, one by default; its
further jobs are queued. When a job exceeds its limits (`core.execution.job_watch`) or its client disconnects, its
process is killed; the next job starts another process.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock, Semaphore
from time import monotonic
from typing import IO, Any, Generic, NamedTuple, TypeVar

from attestlab.core.errors import AttestLabError, Cancelled, Unavailable, WorkAborted
from attestlab.core.execution.job_pieces import PieceQueue
from attestlab.core.execution.job_watch import IdleLimits, JobWatch, NothingToRead, TimeLimits
from attestlab.core.execution.waiting_jobs import Share, WaitingJobs

MAX_PROCESSES = 2
MAX_WAITING = 16  # jobs of one tenant, including the running one
NICENESS = 10  # the event loop and its requests have priority
IDLE_S = 300.0  # a person who looks at a dashboard for minutes does not wait for another process to start
MAX_SLOWDOWN = 4  # how many times its processor time a job may take on a busy machine
LENGTH = struct.Struct(">Q")
# -P: never load a module from the current folder
_COMMAND = (sys.executable, "-P", "-m", "attestlab.core.execution.worker_main")
_RETRY_AFTER_S = 5

Result = TypeVar("Result")
_Key = TypeVar("_Key", bound=Hashable)
OnDisconnect = Callable[[Callable[[], None]], None]
"""Registers a function to call when the client disconnects; calls it immediately if it already has."""


class WorkerProcesses:
    """Runs module-level functions in child processes; `close` ends them.

    `run` is called on an event loop. `_lock` protects `_idle` and `_workers`.

    Args:
        processes: how many jobs run at once.
        of_a_tenant: how many of them may be of one tenant, fewer than `processes`, so that no tenant waits for another.
        idle_limits: what a job must use while another tenant waits; None is nothing.
        niceness: of the processes, from 0, which is the priority of the event loop.
    """

    def __init__(
        self,
        processes: int = MAX_PROCESSES,
        *,
        of_a_tenant: int = 1,
        idle_limits: IdleLimits | None = None,
        niceness: int = NICENESS,
    ) -> None:
        self._threads = ThreadPoolExecutor(processes, "attestlab-workers")
        self._blocking_slots = Semaphore(processes)
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()  # with those at work
        self._lock = Lock()
        self._queues: dict[Hashable, _Queue] = {}
        self._shares: dict[Share, _Queue] = {}
        self._waiting = WaitingJobs()
        self._of_a_tenant = of_a_tenant
        self._niceness = niceness
        self._idle_limits = idle_limits

    async def run(
        self,
        tenant: Hashable,
        function: Callable[..., Result],
        *arguments: object,
        timeout_s: float,
        elapsed_s: float | None = None,
        share: Share | None = None,
        on_disconnect: OnDisconnect | None = None,
    ) -> Result:
        """Call a module-level function in a child process; its arguments and its result are pickled.

        It may use `timeout_s` of processor time and `elapsed_s` in all, by default four times as much. Tenants with a
        `share` use no more of the pool than that.

        Raises:
            AttestLabError: raised by the function.
            WorkAborted: it took too long, it was idle while another tenant waited, or its process died.
            Unavailable: too many jobs of the tenant are queued.
            Cancelled: the client disconnected.
        """
        job = _Job[Result](function, arguments, _limit_time(timeout_s, elapsed_s))
        return await self._run_in_turn(_Owner(tenant, share), job, on_disconnect)

    async def stream(
        self,
        tenant: Hashable,
        function: Callable[..., Generator[bytes]],
        *arguments: object,
        timeout_s: float,
        elapsed_s: float | None = None,
        share: Share | None = None,
        on_disconnect: OnDisconnect | None = None,
    ) -> AsyncGenerator[bytes]:
        """Yield what a module-level generator function yields in a child process, as in `run`.

        The process waits while `MAX_PIECES_AHEAD` pieces are not received, and is killed if the generator is closed.

        Raises:
            AttestLabError, WorkAborted, Unavailable, Cancelled: see `run`; perhaps after some pieces.
        """
        pieces = PieceQueue(asyncio.get_running_loop())
        job = _Job[None](function, arguments, _limit_time(timeout_s, elapsed_s), pieces)
        running = asyncio.create_task(self._run_in_turn(_Owner(tenant, share), job, on_disconnect))
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

    async def _run_in_turn(self, owner: _Owner, job: _Job[Result], on_disconnect: OnDisconnect | None) -> Result:
        """Run a job after those of the same tenant, then in turn with those of its share."""
        at_once = self._of_a_tenant if owner.share is None else owner.share.of_a_tenant
        async with _take_turn(self._queues, owner.tenant, at_once, MAX_WAITING):
            if owner.share is None:
                return await self._run_job(owner, job, on_disconnect)
            end_waiting = self._waiting.add(*owner)
            try:
                async with _take_turn(self._shares, owner.share, owner.share.of_all):
                    end_waiting()
                    return await self._run_job(owner, job, on_disconnect)
            finally:
                end_waiting()

    def run_blocking(self, function: Callable[..., Result], *arguments: object, timeout_s: float) -> Result:
        """Do the same as `run` for callers without an event loop; blocks until a process is free.

        Raises:
            AttestLabError: raised by the function.
            WorkAborted: it took too long, or its process died.
        """
        job = _Job[Result](function, arguments, _limit_time(timeout_s))
        with self._blocking_slots:
            return self._execute(job)

    async def _run_job(self, owner: _Owner, job: _Job[Result], on_disconnect: OnDisconnect | None) -> Result:
        loop = asyncio.get_running_loop()
        end_waiting = self._waiting.add(owner.tenant)
        if self._idle_limits is not None:
            job.watch_idleness(self._idle_limits, partial(self._waiting.has_others, *owner))
        if on_disconnect is not None:
            on_disconnect(lambda: job.cancel(Cancelled("The client disconnected.")))
        try:
            return await loop.run_in_executor(self._threads, self._execute, job, end_waiting)
        except asyncio.CancelledError:
            job.cancel(Cancelled("The request was cancelled."))
            raise
        finally:
            end_waiting()
            loop.call_later(IDLE_S, self.end_idle)

    def _execute(self, job: _Job[Result], end_waiting: Callable[[], None] = lambda: None) -> Result:
        """Run the job in a child process; called in a thread, which only waits."""
        end_waiting()
        worker = self._take_worker()
        try:
            get_result = job.execute(worker)
        except (EOFError, OSError, struct.error):
            self._end(worker)
            raise job.reason or WorkAborted("The process of this work died. Retry the request.") from None
        if worker.is_spent:
            self._end(worker)
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
                self._workers.discard(worker)
                worker.end()
        worker = _Worker(self._niceness)
        with self._lock:
            self._workers.add(worker)
        return worker

    def _end(self, *workers: _Worker) -> None:
        with self._lock:
            self._workers.difference_update(workers)
        for worker in workers:
            worker.end()

    def list_pids(self) -> list[int]:
        """List the numbers of the processes, idle ones too. Thread-safe."""
        with self._lock:
            return [each.process.pid for each in self._workers]

    def end_idle(self, *, unused_s: float = IDLE_S) -> None:
        """End the processes that no job has used for `unused_s`. Thread-safe."""
        with self._lock:
            old = [each for each in self._idle if monotonic() - each.used_at >= unused_s]
            self._idle = [each for each in self._idle if each not in old]
        self._end(*old)

    def abort(self) -> None:
        """Kill all processes, so that running jobs fail at once. Thread-safe."""
        with self._lock:
            for worker in self._workers:
                worker.process.kill()

    def close(self) -> None:
        """End the processes; a running job fails at the latest when its process ends."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.end_idle(unused_s=0)


class _Owner(NamedTuple):
    """Whose job it is."""

    tenant: Hashable
    share: Share | None


@dataclass
class _Queue:
    """The jobs of one tenant or share: a few at a time, in the order of arrival."""

    turn: asyncio.Semaphore
    jobs: int = 0


@asynccontextmanager
async def _take_turn(
    queues: dict[_Key, _Queue], key: _Key, at_once: int, max_jobs: int | None = None
) -> AsyncGenerator[None]:
    """Wait for a turn in a queue, which exists as long as it has jobs.

    Raises:
        Unavailable: the queue has `max_jobs` already.
    """
    queue = queues.setdefault(key, _Queue(asyncio.Semaphore(at_once)))
    if queue.jobs == max_jobs:
        raise Unavailable(
            f"Too many large requests of this tenant are queued (limit {max_jobs}). Retry in {_RETRY_AFTER_S} seconds.",
            retry_after_s=_RETRY_AFTER_S,
        )
    queue.jobs += 1
    try:
        async with queue.turn:
            yield
    finally:
        queue.jobs -= 1
        if not queue.jobs:
            queues.pop(key, None)


def _limit_time(processor_s: float, elapsed_s: float | None = None) -> TimeLimits:
    return TimeLimits(processor_s, MAX_SLOWDOWN * processor_s if elapsed_s is None else elapsed_s)


class _Job(Generic[Result]):
    """One function call, whose pieces, if it yields some, go to a queue.

    `reason` is the error with which it was cancelled.
    """

    def __init__(
        self,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        limits: TimeLimits,
        pieces: PieceQueue | None = None,
    ) -> None:
        self.reason: AttestLabError | None = None
        self._pieces = pieces
        self._message = pickle.dumps((function, arguments))
        self._limits = limits
        self._idle_limits = IdleLimits()
        self._others_wait: Callable[[], bool] = lambda: False
        self._worker: _Worker | None = None
        self._lock = Lock()

    def watch_idleness(self, idle_limits: IdleLimits, others_wait: Callable[[], bool]) -> None:
        """End the job when it is idle while another tenant waits."""
        self._idle_limits, self._others_wait = idle_limits, others_wait

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
        watch = JobWatch(
            worker.process.pid,
            self._limits,
            self._idle_limits,
            reading=self._pieces or NothingToRead(),
            others_wait=self._others_wait,
            on_exceeded=lambda reason: self.cancel(WorkAborted(reason, retry_after_s=_RETRY_AFTER_S)),
        )
        try:
            worker.send(self._message)
            return self._receive_result(worker)
        finally:
            watch.cancel()
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


def start_process(niceness: int) -> subprocess.Popen[bytes]:
    """Start a child process that takes jobs from its stdin and writes results to its stdout."""
    return subprocess.Popen((*_COMMAND, str(niceness)), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class _Worker:
    """One child process; it belongs to one job at a time."""

    def __init__(self, niceness: int) -> None:
        self.process = start_process(niceness)
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
