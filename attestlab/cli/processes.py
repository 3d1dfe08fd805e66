"""Several server processes on one port: they share the listening sockets, the records and the head guard.

The parent only supervises: it starts the workers, forwards signals, and replaces a worker
that dies. The workers communicate only through the database.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attestlab.core import atomic_files
from attestlab.core.standard_output import print_stderr

RESTART_PAUSE_S = 0.5
READY = b"r"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


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

    def run(self, *, ready: Callable[[], None]) -> int:
        """Keep `count` workers running until SIGTERM or SIGINT; returns the exit code."""
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
        worst = 0
        while self._children:
            worst = max(worst, self._wait())
        return worst

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
        try:
            child, status = os.wait()
        except InterruptedError:
            return 0
        self._children.discard(child)
        code = os.waitstatus_to_exitcode(status)
        if self._stopping:
            return abs(code)
        print_stderr(f"worker {child} ended with {code}; starting another")
        time.sleep(RESTART_PAUSE_S)
        self._start()
        return 0

    def _stop(self, number: int, _frame: object) -> None:
        self._stopping = True
        self._close_sockets()
        for child in self._children:
            os.kill(child, number)


def _exit_at_once(_number: int, _frame: object) -> None:
    """Exit a worker that gets a stop signal before it serves: it has not accepted anything yet."""
    os._exit(0)


def _signal_ready(ready_out: int) -> None:
    os.write(ready_out, READY)
    os.close(ready_out)
