"""A real JupyterLab for tests: its server, and a notebook in Chromium whose cells run one after the other.

The server has Notebook 7 too, at other addresses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from benchmarks.views.jupyter_lab import HAS_KERNEL, run_jupyter_lab
from benchmarks.views.jupyter_lab import write_notebook as write_notebook
from support.browser import open_profile
from support.dashboards.windows import PageWatch
from support.ports import hold_port

THEMES: Final = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
LIVE: Final = "[data-al-view] > [data-ready]:not([data-ready=''])"
LAB: Final = "lab/tree/{}?reset"  # without the notebooks that were open before
NOTEBOOK_7: Final = "notebooks/{}"
# Notebook 7.6 writes it for each notebook, before a cell runs.
COMPLAINTS_OF_NOTEBOOK_7: Final = ("Cannot read properties of undefined (reading 'schema')",)


@contextmanager
def serve_jupyter_lab(folder: Path, *options: str) -> Iterator[str]:
    """Serve the notebooks of a folder, at a port that no other test gets; yields the address of the server."""
    with hold_port() as port, run_jupyter_lab(folder, *options, port=port) as url:
        yield url


_SHOW_THEME = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
_RUN = """async (place) => {
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = place;
  await notebook.scrollToItem(place);
  await jupyterapp.commands.execute("notebook:run-cell");
  notebook.widgets[place].node.scrollIntoView();  // a view begins when it is in sight
  return notebook.widgets[place].model.toJSON().outputs;
}"""
_FIND_CELL: Final = "const cell = jupyterapp.shell.currentWidget.content.widgets[place].node;"
# The body of a function of `cell`, an element of JupyterLab; it returns a line for each fault.
CUT: Final = Path(__file__).with_name("notebook_outputs.js").read_text()
_CONTRAST: Final = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}


@contextmanager
def watch_page(browser: Browser, url: str, own_complaints: Collection[str] = ()) -> Iterator[Page]:
    """Open a window for a JupyterLab at an address; at the end it asked no other host, and did not complain.

    Args:
        browser: where the window opens.
        url: the address of the server.
        own_complaints: what the notebook complains of where it shows nothing of ours.
    """
    with open_profile(browser, viewport={"width": 1400, "height": 1500}) as profile:
        page = profile.new_page()
        watched = PageWatch(page)
        yield page
        foreign = watched.list_foreign_requests(url)
        complaints = [each for each in watched.complaints if each not in own_complaints]
        assert not foreign, foreign
        assert not complaints, complaints


class NotebookPage:
    """A notebook that is open in a browser."""

    def __init__(self, page: Page, url: str, name: str, *, has_kernel: bool = True, place: str = LAB) -> None:
        self.page = page
        page.goto(f"{url}/{place.format(name)}")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        if has_kernel:
            page.wait_for_function(HAS_KERNEL, arg=name)

    def run(self, number: int) -> Locator:
        """Run a cell, by its number from 1, and wait until it has run; returns its outputs."""
        outputs = self.begin(number)
        self.wait_for_end(number)
        return outputs

    def show_theme(self, theme: str) -> None:
        """Show the notebook `light` or `dark`."""
        self.page.evaluate(_SHOW_THEME, THEMES[theme])
        self.page.wait_for_selector(
            f"body[data-jp-theme-light={'true' if theme == 'light' else 'false'}]", state="attached"
        )

    def run_by_command(self, number: int) -> list[dict[str, str]]:
        """Run a cell as the menu does, and wait until it has run; returns the outputs that the notebook stores."""
        outputs: list[dict[str, str]] = self.page.evaluate(_RUN, number - 1)
        return outputs

    def list_cut_parts(self, number: int) -> list[str]:
        """List what of the outputs of a cell is cut off, or transparent."""
        cut: list[str] = self.page.evaluate(f"place => {{ {_FIND_CELL} {CUT} }}", number - 1)
        return cut

    def list_faint_texts(self) -> list[str]:
        """List the words in outputs that differ too little from what is behind them (WCAG 1.4.3)."""
        found = Axe().run(self.page, context=".jp-Cell-outputArea", options=_CONTRAST).response["violations"]
        return [f"{node['html'][:160]} {node['failureSummary'][:200]}" for rule in found for node in rule["nodes"]]

    def trust(self) -> None:
        """Trust the notebook, as a person does who knows its author."""
        self.page.evaluate("void jupyterapp.commands.execute('notebook:trust')")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.page.wait_for_selector(".jp-Dialog", state="detached")

    def shut_down(self) -> None:
        """End the kernel."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    def begin(self, number: int) -> Locator:
        """Begin to run a cell; returns its outputs."""
        cell = self.find_cell(number)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        return cell.locator(".jp-OutputArea")

    def wait_for_end(self, number: int) -> None:
        """Wait until a cell has run."""
        self.find_cell(number).locator(".jp-InputPrompt", has_text=f"[{number}]:").wait_for()

    def save(self) -> None:
        """Save the notebook, and wait until it is."""
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        self.page.wait_for_selector(".jp-mod-dirty", state="detached")

    def find_cell(self, number: int) -> Locator:
        """Find a cell by its number from 1."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number - 1)
