"""All notebooks in a real JupyterLab, light and dark: each cell runs, and what it shows can be read whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from support.browser import needs_chromium, open_browser
from support.jupyter_lab import CUT, LIVE, THEMES, NotebookPage, serve_jupyter_lab, watch_page

pytestmark = needs_chromium
NOTEBOOKS: Final = sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))
LONG: Final = "a line that is longer than the box that has it"
BOX: Final = "width:90px;white-space:nowrap"
CLAMP: Final = "display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:1"
CLEAR: Final = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
CUT_OFF: Final = {
    f'<div style="{BOX};overflow:hidden">{LONG}</div>': "is cut off",
    f'<div style="{BOX};overflow:hidden;text-overflow:ellipsis">{LONG}</div>': "ends with an ellipsis",
    f'<div style="width:90px;overflow:hidden;{CLAMP}">{LONG}</div>': "ends with an ellipsis",
    f'<div style="margin-left:1300px;white-space:nowrap">{LONG}</div>': "is cut off",
    f'<img src="{CLEAR}">': "is transparent",
    '<img src="data:image/png;base64,AAAA">': "is not shown",
}
WHOLE: Final = (
    f'<div style="{BOX};overflow:auto">{LONG}</div>',
    f'<div style="{BOX};overflow:hidden;text-overflow:ellipsis" title="{LONG}">{LONG}</div>',
    f"<details><summary>more</summary><p>{LONG}</p></details>",
    f"<p>{LONG}</p>",
)


class ServedNotebooks(NamedTuple):
    """A JupyterLab with the notebooks, and a browser."""

    url: str
    browser: Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(caches: None, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedNotebooks]:
    folder = tmp_path_factory.mktemp("notebooks")
    for path in NOTEBOOKS:
        copy_without_outputs(path, folder / path.name)
    with serve_jupyter_lab(folder) as url:
        yield ServedNotebooks(url, browser)


def copy_without_outputs(path: Path, to: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, to)  # type: ignore[no-untyped-call]


def list_code_cells(path: Path) -> list[int]:
    """List the numbers of the cells of code, from 1."""
    cells = nbformat.read(path, as_version=4).cells  # type: ignore[no-untyped-call]
    return [number for number, cell in enumerate(cells, 1) if cell.cell_type == "code"]


def run_and_list_faults(notebook: NotebookPage, number: int) -> list[str]:
    """Run a cell and list what is wrong with its outputs; a view is waited for until it is live."""
    outputs = notebook.run_by_command(number)
    errors = [f"{each['ename']}: {each['evalue']}" for each in outputs if each["output_type"] == "error"]
    if not outputs or errors:
        return errors
    cell = notebook.find_cell(number)
    if cell.locator("[data-al-view]").count():
        cell.locator(LIVE).wait_for()
    return notebook.list_cut_parts(number)


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    return browser.new_page(viewport={"width": 1400, "height": 800})


@pytest.mark.parametrize(("output", "words"), [*CUT_OFF.items(), *((each, "") for each in WHOLE)])
def test_what_is_cut_off_is_found(page: Page, output: str, words: str) -> None:
    page.set_content(f'<div class="jp-Cell"><div class="jp-Cell-outputArea">{output}</div></div>')
    found = page.evaluate(f"() => {{ const cell = document.querySelector('.jp-Cell'); {CUT} }}")
    assert words in " ".join(found)
    assert bool(found) == bool(words)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_cell_runs_and_is_read_whole_light_and_dark(served: ServedNotebooks, path: Path) -> None:
    with watch_page(served.browser, served.url) as page:
        notebook = NotebookPage(page, served.url, path.name)
        notebook.show_theme("light")
        faults = {number: run_and_list_faults(notebook, number) for number in list_code_cells(path)}
        assert {number: found for number, found in faults.items() if found} == {}
        for theme in THEMES:
            notebook.show_theme(theme)
            assert notebook.list_faint_texts() == []
        notebook.shut_down()
