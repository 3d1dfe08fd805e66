"""The progress of a long command on stderr: a bar on a terminal, gone when the command ends; lines for a start-up."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from attestlab.core.terminal_bar import OnProgress, draw_on_terminal, is_terminal

_STEP_PERCENT = 10  # between two lines
_PERCENT = 100


@contextmanager
def progress_on_stderr(label: str, *, is_shown: bool) -> Iterator[OnProgress]:
    """Show the progress of a task in a line that is erased at its end, however it ends."""
    if not is_shown or not is_terminal():
        yield lambda _done, _of: None
        return
    with draw_on_terminal(label, has_thread=False) as draw:  # `log fsck` forks
        yield draw


@contextmanager
def progress_in_lines(label: str) -> Iterator[OnProgress]:
    """Print a line on stderr for the first report of a task, and one for each further tenth of it."""
    shown = -_STEP_PERCENT

    def report(done: int, of: int) -> None:
        nonlocal shown
        percent = _PERCENT * done // of
        if percent >= shown + _STEP_PERCENT:
            shown = percent - percent % _STEP_PERCENT
            print(f"{label}: {shown} %", file=sys.stderr, flush=True)

    yield report


def progress_of_start(label: str) -> AbstractContextManager[OnProgress]:
    """Show the progress of what a server does before it listens: a bar on a terminal, and lines in a log."""
    return progress_on_stderr(label, is_shown=True) if is_terminal() else progress_in_lines(label)
