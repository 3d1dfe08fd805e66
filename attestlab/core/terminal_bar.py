"""A bar on stderr for a person at a terminal, drawn by rich; it is erased when the work ends, however that ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnProgress = Callable[[int, int], None]  # how much is done, of how much
DrawBar = Callable[[int, int | None], None]  # the same, where the whole may be unknown


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def count_done(done: int, total: int | None) -> str:
    """Describe how much is done.

    >>> count_done(1200, 5000), count_done(1200, None)
    ('1,200 of 5,000', '1,200')
    """
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


@contextmanager
def draw_on_terminal(what: str, total: int | None = None, *, has_thread: bool) -> Iterator[DrawBar]:
    """Draw a bar until the block ends.

    Args:
        has_thread: whether a thread redraws the bar while the work is silent. Work that forks must not have it: the
            forked process would inherit what the thread has locked. The bar then moves by whole percents.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    counted = TextColumn("{task.fields[counted]}")
    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), counted, TimeElapsedColumn()]
    # What the program prints while the bar is shown stays on the stream that it chose.
    with Progress(
        *(columns if has_thread else columns[1:]),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=has_thread,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:
        task = progress.add_task(what, total=total, counted="")
        shown_percent = -1

        def draw(done: int, of: int | None) -> None:
            nonlocal shown_percent
            percent = 100 * done // of if of else 0
            if has_thread or percent != shown_percent:
                shown_percent = percent
                progress.update(task, completed=done, total=of, counted=count_done(done, of), refresh=not has_thread)

        yield draw
