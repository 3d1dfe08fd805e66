"""The child process of `core.execution.worker_processes`: reads jobs from stdin, one after another, until it is closed.

Only its parent can write to its stdin, which is why it may unpickle what comes from there.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path
from threading import Thread
from time import sleep
from typing import IO, Any

from attestlab.core.error_text import one_line
from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.execution.worker_processes import LENGTH

NICENESS = 10  # a request that waits for the event loop goes first
MAX_GROWTH_BYTES = 512 << 20  # a process that holds so much more than after its first job makes room for another
_POLL_INTERVAL_S = 0.5


def main() -> None:
    """Do jobs until stdin is closed."""
    os.nice(NICENESS)
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends us in order
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a library prints is no answer
        try:
            _serve(sys.stdin.buffer, answers)
        except Exception as error:  # a traceback's text would quote values of the job
            sys.exit(one_line(error))


def _serve(jobs: IO[bytes], answers: IO[bytes]) -> None:
    most = None
    while head := jobs.read(LENGTH.size):
        (length,) = LENGTH.unpack(head)
        attempt = _attempt(jobs.read(length))
        most = most or _data_bytes() + MAX_GROWTH_BYTES
        is_last = _data_bytes() > most or _ran_out(attempt)
        answer = pickle.dumps((*attempt, is_last))
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()
        if is_last:
            return


def _attempt(job: bytes) -> tuple[bool, Any]:
    function, arguments = pickle.loads(job)
    try:
        return True, function(*arguments)
    except AttestLabError as error:
        return False, (type(error), error.message, error.__dict__)


def _ran_out(attempt: tuple[bool, Any]) -> bool:
    """Whether a job had too little memory or time; what it took is not all given back."""
    is_done, value = attempt
    return not is_done and issubclass(value[0], Unavailable)


def _data_bytes() -> int:
    """How much memory of its own the process has, given back to no one yet (Linux /proc)."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _die_with_parent() -> None:
    """End this process when the server has died, also in the middle of a job."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(_POLL_INTERVAL_S)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
