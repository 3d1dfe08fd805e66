"""Standard output of commands; a command whose output cannot be written fails.

If the reader of a pipe has gone, the command ends silently by SIGPIPE, as Unix tools do. If standard
output is closed or cannot be written for another reason (a full disk), it exits 3 with one line on stderr.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

COULD_NOT_WRITE = 3


class OutputLost(Exception):
    """Standard output is closed or failed. Not an `OSError`, because commands handle those as their own errors."""

    def __init__(self, cause: OSError | None) -> None:
        super().__init__(str(cause) if cause else "it is closed")
        self.is_broken_pipe = isinstance(cause, BrokenPipeError)


def emit(text: str) -> None:
    """Write a line to standard output and flush it.

    Raises:
        OutputLost: it could not be written.
    """
    if sys.stdout is None:
        raise OutputLost(None)
    try:
        print(text, flush=True)
    except OSError as error:
        raise OutputLost(error) from error


def print_stderr(message: str) -> None:
    """Write a line to standard error; ignores errors."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(message, file=sys.stderr, flush=True)


@contextmanager
def exit_on_lost_output() -> Iterator[None]:
    """Run a command; end the process if its output was lost, regardless of the command's exit status."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OutputLost as error:
        _exit(error)
    except OSError as error:  # from a print that is not ours, such as --help; commands report their own
        _exit(OutputLost(error))


def _exit(lost: OutputLost) -> NoReturn:
    """End the process without the interpreter's attempt to write the rest of the buffer."""
    if lost.is_broken_pipe:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    print_stderr(f"attestlab: Standard output cannot be written: {lost}")
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(COULD_NOT_WRITE)
