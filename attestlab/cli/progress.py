"""The progress bar of a long command: on stderr, only on a terminal, and gone when the command ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]  # how much is done, of how much


@contextmanager
def progress_on_stderr(label: str, *, is_shown: bool) -> Iterator[Progress]:
    """Show the progress of a task in a line that is erased at its end, however it ends."""
    if not is_shown or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _of: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeRemainingColumn(),
    )
    # No refreshing thread: `log fsck` forks, and a forked process would inherit what the thread has locked.
    with bars.Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(label, total=None)
        shown = -1

        def show(done: int, of: int) -> None:
            nonlocal shown
            percent = 100 * done // max(of, 1)
            if percent != shown:
                shown = percent
                bar.update(task, completed=done, total=of, refresh=True)

        yield show
