"""The child process of `core.execution.worker_processes`: runs jobs from stdin until stdin is closed.

Only its parent can write to its stdin, so unpickling the jobs is safe.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path
from threading import Thread
from time import sleep
from typing import IO

from attestlab.core.error_text import one_line
from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.execution.worker_processes import LENGTH

NICENESS = 10  # the event loop and its requests have priority
MAX_GROWTH_BYTES = 512 << 20  # a process that has grown by more since its first job ends and is replaced
_POLL_INTERVAL_S = 0.5


def main() -> None:
    """Run jobs until stdin is closed."""
    os.nice(NICENESS)
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and stops this process in order
    with os.fdopen(os.dup(1), "wb") as results:
        os.dup2(2, 1)  # keeps output of libraries out of the results
        try:
            _serve(sys.stdin.buffer, results)
        except Exception as error:  # a traceback would quote values of the job
            sys.exit(one_line(error))


def _serve(jobs: IO[bytes], results: IO[bytes]) -> None:
    max_bytes = None
    while head := jobs.read(LENGTH.size):
        (length,) = LENGTH.unpack(head)
        outcome = _run_job(jobs.read(length))
        max_bytes = max_bytes or _data_bytes() + MAX_GROWTH_BYTES
        is_last = _data_bytes() > max_bytes or _is_out_of_resources(outcome)
        result = pickle.dumps((*outcome, is_last))
        results.write(LENGTH.pack(len(result)) + result)
        results.flush()
        if is_last:
            return


def _run_job(job: bytes) -> tuple[bool, object]:
    function, arguments = pickle.loads(job)
    try:
        return True, function(*arguments)
    except AttestLabError as error:
        return False, (type(error), error.message, error.__dict__)


def _is_out_of_resources(outcome: tuple[bool, object]) -> bool:
    """Whether a job ran out of memory or time; the process does not return all of its memory then."""
    is_done, value = outcome
    return not is_done and isinstance(value, tuple) and issubclass(value[0], Unavailable)


def _data_bytes() -> int:
    """Return the size of the process's data and stack, in bytes (Linux /proc)."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _die_with_parent() -> None:
    """End this process when its parent has died, even in the middle of a job."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(_POLL_INTERVAL_S)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
