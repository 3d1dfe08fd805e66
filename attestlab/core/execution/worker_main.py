"""The child process of `core.execution.worker_processes`: runs jobs from stdin until stdin is closed.

Only its parent can write to its stdin, so unpickling the jobs is safe.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Generator
from pathlib import Path
from threading import Thread
from time import sleep
from typing import IO

from attestlab.core.error_text import one_line
from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.execution import stop_signals
from attestlab.core.execution.worker_processes import LENGTH

MAX_GROWTH_BYTES = 512 << 20  # a process that has grown by more since its first job ends and is replaced
_POLL_INTERVAL_S = 0.5


def main(niceness: str) -> None:
    """Run jobs until stdin is closed; a process of low priority has a niceness above 0."""
    os.nice(int(niceness))
    _die_with_parent()
    stop_signals.ignore()
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
        outcome = _run_job(jobs.read(length), results)
        max_bytes = max_bytes or _data_bytes() + MAX_GROWTH_BYTES
        is_last = _data_bytes() > max_bytes or _is_out_of_resources(outcome)
        _send(results, (*outcome, is_last))
        if is_last:
            return


def _send(results: IO[bytes], message: object) -> None:
    text = pickle.dumps(message)
    results.write(LENGTH.pack(len(text)) + text)
    results.flush()


def _run_job(job: bytes, results: IO[bytes]) -> tuple[bool, object]:
    """Call the function of a job; of a generator, each piece is sent as soon as the parent takes it."""
    function, arguments = pickle.loads(job)
    try:
        result = function(*arguments)
        if not isinstance(result, Generator):
            return True, result
        for piece in result:
            _send(results, piece)
        return True, None
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
    main(*sys.argv[1:])
