"""A notebook in JupyterLab in Chromium, whose page measures the waits (`watch.js`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from playwright.sync_api import Browser, Page, ViewportSize

from benchmarks.views.jupyter_lab import HAS_KERNEL

TIMEOUT_MS: Final = 300_000
_SCRIPT: Final = Path(__file__).with_name("watch.js")
_SIZE: Final[ViewportSize] = {"width": 1400, "height": 1500}
_FILTERS: Final = ("window", "source")  # the chips of windows, and the sources of the pane "What"

Wait = dict[str, float]
"""When each milestone was seen, in ms after the command: `first_markup`, `first_figure`, `first_pane`, `all_panes`.

`epoch_ms` is the command, in ms since 1970.
"""


class Filter(NamedTuple):
    """A filter of the risk explorer: its name in the address, and its value."""

    name: str
    value: str


class NotebookWindow:
    """A window with a notebook; cells have numbers from 0."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def run(self, cell: int) -> Wait:
        """Run a cell that shows a view of the risk explorer; returns how long its parts took."""
        return self._measure("run", cell)

    def visit(self, cell: int) -> Wait:
        """Scroll to a cell whose view was never in sight; returns how long its parts took.

        `still` is until what the notebook stores is seen. A view that does not begin there begins at the end of its
        still: then `scrolled_on` is 1, and the others count from there.
        """
        return self._measure("visit", cell)

    def click(self, cell: int, chosen: Filter) -> Wait:
        """Click a filter of a view; returns how long it took until all panes showed it."""
        return self._measure("click", cell, *chosen)

    def list_filters(self, cell: int, name: str) -> list[Filter]:
        """List the filters of a name that a view offers now."""
        values: list[str] = self._call("listValues", cell, name)
        return [Filter(name, value) for value in values]

    def run_plain(self, cell: int) -> str:
        """Run a cell that shows no view; returns what it shows as text."""
        text: str = self._call("runPlain", cell)
        return text

    def run_below(self, cell: int) -> list[int]:
        """Run a cell and all below it; returns those whose views were in sight at some time."""
        cells: list[int] = self._call("runBelow", cell)
        return cells

    def shut_down(self) -> None:
        """End the kernel."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    def _measure(self, name: str, *arguments: int | str) -> Wait:
        found: Wait = self._call(name, *arguments)
        return found

    def _call(self, name: str, *arguments: int | str) -> Any:
        return self.page.evaluate(f"args => attestlabWaits.{name}(...args)", list(arguments))


@contextmanager
def open_notebook(browser: Browser, url: str, name: str) -> Iterator[NotebookWindow]:
    """Open a notebook in a new profile of the browser; its kernel ends with the block."""
    profile = browser.new_context(viewport=_SIZE)
    profile.set_default_timeout(TIMEOUT_MS)
    profile.add_init_script(path=_SCRIPT)
    page = profile.new_page()
    page.goto(f"{url}/lab/tree/{name}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(HAS_KERNEL, arg=name)
    window = NotebookWindow(page)
    try:
        yield window
    finally:
        window.shut_down()
        profile.close()


def click_filters(window: NotebookWindow, cell: int, count: int) -> Iterator[Wait]:
    """Click windows and sources in turns, the least used first; the view showed none of their combinations before.

    Raises:
        RuntimeError: the view has no further combination.
    """
    chosen = {"window": "7d", "source": ""}
    seen = [tuple(chosen.values())]
    for number in range(count):
        name = _FILTERS[number % len(_FILTERS)]
        fresh = [each for each in window.list_filters(cell, name) if _apply(chosen, each) not in seen]
        if not fresh:
            raise RuntimeError(f"The view offers no {name} that it did not show with {chosen}, after {number} clicks.")
        following = min(fresh, key=lambda each: sum(each.value in state for state in seen))
        chosen[name] = following.value
        seen.append(tuple(chosen.values()))
        yield window.click(cell, following)


def _apply(chosen: dict[str, str], each: Filter) -> tuple[str, ...]:
    return tuple({**chosen, each.name: each.value}.values())
