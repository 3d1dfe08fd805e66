"""Several server processes on one port: they share the listening sockets, the records and the head guard.

The parent only supervises: it starts the workers, forwards signals, and replaces a worker
that dies. The workers communicate only through the database.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attestlab.core import atomic_files
from attestlab.core.execution.stop_signals import STOP_SIGNALS
from attestlab.core.standard_output import print_stderr

RESTART_PAUSE_S = 0.5
READY = b"r"
_MANY = 1024
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared_metrics(count: int) -> Iterator[None]:
    """Share metrics between several workers through files, so that any worker reports the metrics of all.

    The metrics library reads the folder's name when it is loaded, so enter this block before that.
    """
    if count == 1:
        yield
        return
    with atomic_files.temporary_folder("attestlab-metrics-") as folder:
        os.environ[METRICS_FOLDER] = str(folder)
        yield


class Workers:
    """Supervises the worker processes, in their parent.

    Each worker runs `work(ready)`, which returns on a stop signal. `close_sockets` is called when all workers
    must stop, because the parent's own copies of the sockets would keep the port open.
    """

    def __init__(
        self, count: int, work: Callable[[Callable[[], None]], None], *, close_sockets: Callable[[], None]
    ) -> None:
        self._count = count
        self._work = work
        self._close_sockets = close_sockets
        self._children: set[int] = set()
        self._stopping = False
        self._woken = self._wakes = -1  # the ends of a pipe with a byte for each signal

    def run(self, *, ready: Callable[[], None]) -> int:
        """Keep `count` workers running until SIGTERM or SIGINT; returns the exit code."""
        self._woken, self._wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _note)
        for number in STOP_SIGNALS:
            signal.signal(number, self._stop)
        for _ in range(self._count):
            self._start()
        try:
            ready()
        except BaseException:  # standard output is lost; no worker may outlive its parent
            self._stop(signal.SIGTERM, None)
            self._wait_for_all()
            raise
        return self._wait_for_all()

    def _wait_for_all(self) -> int:
        highest_status = 0
        while self._children:
            highest_status = max(highest_status, self._wait())
        return highest_status

    def _start(self) -> None:
        """Fork one worker, unless we are stopping, and wait until it is ready or has died."""
        ready_in, ready_out = os.pipe()
        # A signal between the fork and its registration would be forwarded to all workers except the new one.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        if not self._stopping:
            child = os.fork()
            if child == 0:
                os.close(ready_in)
                self._become_worker(ready_out)
            self._children.add(child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        os.close(ready_out)
        os.read(ready_in, 1)
        os.close(ready_in)

    def _become_worker(self, ready_out: int) -> None:
        code = 1
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in (self._woken, self._wakes):
            os.close(number)
        for number in STOP_SIGNALS:
            signal.signal(number, _exit_at_once)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        try:
            self._work(lambda: _signal_ready(ready_out))
            code = 0
        except KeyboardInterrupt:
            code = 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
            os._exit(code)

    def _wait(self) -> int:
        """Wait for one worker to end; start another unless we are stopping."""
        child, status = self._reap()
        self._children.discard(child)
        _forget_levels(child)
        code = os.waitstatus_to_exitcode(status)
        if self._stopping:
            return abs(code)
        print_stderr(f"worker {child} ended with {code}; starting another")
        time.sleep(RESTART_PAUSE_S)
        self._start()
        return 0

    def _reap(self) -> tuple[int, int]:
        """Wait until a worker ends; returns its number and status.

        `os.wait` could wait without an end: a signal that comes just before it interrupts nothing, and its handler
        would run only after it. The byte that each signal leaves in the pipe is there whenever it came.
        """
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child:
                return child, status
            select.select([self._woken], [], [])
            os.read(self._woken, _MANY)

    def _stop(self, number: int, _frame: object) -> None:
        self._stopping = True
        self._close_sockets()
        for child in self._children:
            os.kill(child, number)


def _forget_levels(child: int) -> None:
    """Remove the gauges of a worker that ended from the shared metrics: it has no queue and no connections any more."""
    if METRICS_FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead  # loaded late: it reads the folder's name

        mark_process_dead(child)  # type: ignore[no-untyped-call]  # it has no hints


def _note(_number: int, _frame: object) -> None:
    """Take SIGCHLD, so that it leaves its byte in the pipe; by default it would be ignored."""


def _exit_at_once(_number: int, _frame: object) -> None:
    """Exit a worker that gets a stop signal before it serves: it has not accepted anything yet."""
    os._exit(0)


def _signal_ready(ready_out: int) -> None:
    os.write(ready_out, READY)
    os.close(ready_out)
