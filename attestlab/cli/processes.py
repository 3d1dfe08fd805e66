"""Several processes behind one port: they share the listening sockets, the records and the head guard.

The parent only watches: it starts the workers, passes signals on, and replaces a worker
that dies. The database is the one place where they meet.
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
STOPPING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def shared_metrics(count: int) -> Iterator[None]:
    """Where there are several workers, let each count in a file that all of them read, so that any answers for all.

    The library that counts looks for the folder once, when it is loaded: enter this before.
    """
    if count == 1:
        yield
        return
    with atomic_files.temporary_folder("attestlab-metrics-") as folder:
        os.environ[METRICS_FOLDER] = str(folder)
        yield


class Workers:
    """A parent's view of its workers.

    `work(ready)` is what each of them runs, and returns when told to stop. `let_go` is called when
    all shall stop: the parent's own hold on the sockets would keep the port open behind them.
    """

    def __init__(self, count: int, work: Callable[[Callable[[], None]], None], *, let_go: Callable[[], None]) -> None:
        self._count = count
        self._work = work
        self._let_go = let_go
        self._children: set[int] = set()
        self._stopping = False

    def run(self, *, ready: Callable[[], None]) -> int:
        """Keep `count` workers alive until SIGTERM or SIGINT; returns the exit code."""
        for number in STOPPING:
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
        """Fork one worker, unless we are stopping, and wait until it is ready, or has died."""
        ready_in, ready_out = os.pipe()
        # A signal between the fork and the note of it would be passed on to everyone but the new one.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        if not self._stopping:
            child = os.fork()
            if child == 0:
                os.close(ready_in)
                self._become_worker(ready_out)
            self._children.add(child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        os.close(ready_out)
        os.read(ready_in, 1)
        os.close(ready_in)

    def _become_worker(self, ready_out: int) -> None:
        code = 1
        for number in STOPPING:
            signal.signal(number, _leave)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        try:
            self._work(lambda: _tell(ready_out))
            code = 0
        except KeyboardInterrupt:
            code = 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
            os._exit(code)

    def _wait(self) -> int:
        """Wait for one worker to end; unless we are stopping, another takes its place."""
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
        self._let_go()
        for child in self._children:
            os.kill(child, number)


def _leave(_number: int, _frame: object) -> None:
    """What a worker does that is told to stop before it serves: nothing was accepted yet."""
    os._exit(0)


def _tell(ready_out: int) -> None:
    os.write(ready_out, READY)
    os.close(ready_out)
