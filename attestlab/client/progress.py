"""Progress of long work: a bar for a person at a terminal or a notebook, and nothing for a program.

A notebook that a program executes shows none, so its stored outputs stay the same. A bar is erased when the work ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING, Final

from attestlab.client.cards import CardTone, join, write_bar, write_text
from attestlab.core.terminal_bar import count_done, draw_on_terminal, is_terminal

if TYPE_CHECKING:
    from IPython.core.display_functions import DisplayHandle
    from IPython.core.interactiveshell import InteractiveShell

DELAY_S: Final = 0.8  # shorter work shows nothing in a notebook, where even an erased bar leaves a gap
REDRAW_INTERVAL_S: Final = 0.2

Draw = Callable[[int], None]  # with the number of items that are done


class ProgressBar:
    """How much of some work is done, and the bar that shows it."""

    def __init__(self, draw: Draw) -> None:
        self.done = 0
        self._draw = draw

    def advance(self, count: int) -> None:
        """Report that `count` more items are done."""
        self.done += count
        self._draw(self.done)


@contextmanager
def show_progress(what: str, total: int | None = None) -> Iterator[ProgressBar]:
    """Show how much of `total` items is done, or only that there is work; an interrupt ends the bar.

    An error that ends the work notes how many items were done before.
    """
    with _choose_bar(what, total) as draw:
        bar = ProgressBar(draw)
        try:
            yield bar
        except BaseException as error:
            if bar.done:
                error.add_note(
                    f"{what}: {count_done(bar.done, total)} were done before; what was under way may be, too."
                )
            raise


def _choose_bar(what: str, total: int | None) -> AbstractContextManager[Draw]:
    if threading.current_thread() is not threading.main_thread():  # a person waits in the main thread
        return _draw_nothing()
    shell = _find_notebook_shell()
    if shell is not None:
        return _draw_in_notebook(what, total) if _has_person(shell) else _draw_nothing()
    return _draw_in_terminal(what, total) if is_terminal() else _draw_nothing()


@contextmanager
def _draw_nothing() -> Iterator[Draw]:
    yield lambda done: None


@contextmanager
def _draw_in_terminal(what: str, total: int | None) -> Iterator[Draw]:
    with draw_on_terminal(what, total, has_thread=True) as draw:
        yield lambda done: draw(done, total)


@contextmanager
def _draw_in_notebook(what: str, total: int | None) -> Iterator[Draw]:
    bar = NotebookBar(what, total)
    try:
        yield bar.draw
    finally:
        bar.erase()


class NotebookBar:
    """A bar in the output of a cell. It appears after `DELAY_S`, and is redrawn a few times a second.

    A timer draws it first, so that it appears also while one long request is under way. The lock protects all that
    the timer's thread and the worker share.
    """

    def __init__(self, what: str, total: int | None) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._drawn_at = monotonic() + DELAY_S
        self._handle: DisplayHandle | None = None
        self._lock = threading.Lock()
        # The context names the cell that the output belongs to.
        self._timer = threading.Timer(DELAY_S, copy_context().run, [self._redraw])
        self._timer.daemon = True
        self._timer.start()

    def draw(self, done: int) -> None:
        """Show that so much is done."""
        self._done = done
        if monotonic() - self._drawn_at >= REDRAW_INTERVAL_S:
            self._redraw()

    def erase(self) -> None:
        """End the bar, and leave nothing to see."""
        self._timer.cancel()
        self._timer.join()
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)  # type: ignore[no-untyped-call]  # IPython has none

    def _redraw(self) -> None:
        from IPython.display import display

        with self._lock:
            self._drawn_at = monotonic()
            if self._handle is None:
                self._handle = display(self._describe(), raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython has none
            else:
                self._handle.update(self._describe(), raw=True)  # type: ignore[no-untyped-call]  # IPython has none

    def _describe(self) -> dict[str, str]:
        if self._total is None and not self._done:
            return {"text/plain": self._what, "text/html": f"<div>{write_text(self._what)}…</div>"}
        counted, share = count_done(self._done, self._total), self._done / self._total if self._total else 0.0
        drawn = join(f"{self._what} ", write_bar(share, CardTone.CALM, counted))
        return {"text/plain": f"{self._what}: {counted}", "text/html": f"<div>{drawn}</div>"}


def _find_notebook_shell() -> InteractiveShell | None:
    """Return the shell of the notebook's kernel; None outside of one."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def _has_person(shell: InteractiveShell) -> bool:
    """Whether the cell was sent by a front end that can ask its user something, and not by a program."""
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", True))
