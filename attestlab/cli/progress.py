"""The progress bar of a long command: on stderr, only on a terminal, and gone when the command ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attestlab.core.terminal_bar import draw_on_terminal, is_terminal

Progress = Callable[[int, int], None]  # how much is done, of how much


@contextmanager
def progress_on_stderr(label: str, *, is_shown: bool) -> Iterator[Progress]:
    """Show the progress of a task in a line that is erased at its end, however it ends."""
    if not is_shown or not is_terminal():
        yield lambda _done, _of: None
        return
    with draw_on_terminal(label, has_thread=False) as draw:  # `log fsck` forks
        yield draw
