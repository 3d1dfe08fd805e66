"""The child process of `core.worker_processes`: reads jobs from stdin, one after another, until it is closed.

Only its parent can write to its stdin, which is why it may unpickle what comes from there.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
from contextlib import suppress
from typing import IO, Any

from attestlab.core.errors import AttestLabError
from attestlab.core.worker_processes import LENGTH

NICENESS = 10  # a request that waits for the event loop goes first
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Do jobs until stdin is closed."""
    os.nice(NICENESS)
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends us in order
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a library prints is no answer
        _serve(sys.stdin.buffer, answers)


def _serve(jobs: IO[bytes], answers: IO[bytes]) -> None:
    while head := jobs.read(LENGTH.size):
        (length,) = LENGTH.unpack(head)
        answer = pickle.dumps(_attempt(jobs.read(length)))
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()


def _attempt(job: bytes) -> tuple[bool, Any]:
    function, arguments = pickle.loads(job)
    try:
        return True, function(*arguments)
    except AttestLabError as error:
        return False, (type(error), error.message, error.__dict__)


def _die_with_parent() -> None:
    """Have Linux kill this process when the server dies, also in the middle of a job."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
