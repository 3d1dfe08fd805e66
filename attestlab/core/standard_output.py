"""Standard output of commands: a result that was not written was not given.

A command whose reader has gone ends as Unix tools do, by SIGPIPE and without a word. One whose output
is closed or cannot be written for another reason (a full disk) exits 3 with one line on stderr.
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
    """Standard output is closed or failed. It is no `OSError`, because commands report those as their own."""

    def __init__(self, cause: OSError | None) -> None:
        super().__init__(str(cause) if cause else "it is closed")
        self.is_broken_pipe = isinstance(cause, BrokenPipeError)


def emit(text: str) -> None:
    """Write a line to standard output, and return once it was handed to the system.

    Raises:
        OutputLost: it was not.
    """
    if sys.stdout is None:
        raise OutputLost(None)
    try:
        print(text, flush=True)
    except OSError as error:
        raise OutputLost(error) from error


def talk(message: str) -> None:
    """Write a line to standard error, where there is one and it takes it."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(message, file=sys.stderr, flush=True)


@contextmanager
def ending_where_output_is_lost() -> Iterator[None]:
    """Run a command; end the process where its output was lost, whatever the command would have returned."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OutputLost as error:
        _end(error)
    except OSError as error:  # of a print that is not ours, such as --help; commands report their own
        _end(OutputLost(error))


def _end(lost: OutputLost) -> NoReturn:
    """End without the interpreter's own attempt to write what is left in the buffer."""
    if lost.is_broken_pipe:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    talk(f"attestlab: Standard output cannot be written: {lost}")
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(COULD_NOT_WRITE)
