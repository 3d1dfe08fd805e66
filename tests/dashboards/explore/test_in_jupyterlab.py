"""A view in a cell of a real JupyterLab: it is clicked there, and the next cell has the data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from support.browser import needs_chromium, open_browser
from support.jupyter_lab import LIVE, NotebookPage, serve_jupyter_lab, watch_page, write_notebook

pytestmark = needs_chromium
OPEN = """\
import attestlab
from support import risk_story

lab = attestlab.demo(history=False)
risk_story.tell(lab)"""
CELLS = (
    OPEN,
    'view = lab.explore("risk")\nview',
    "view.state",
    'other = lab.explore("risk", source="login")\nother',
    'view["when"]',
    'view.set(source="payments")\nlen(view.rows("when").df())',
)


@pytest.fixture
def notebook(caches: None, tmp_path: Path) -> Iterator[NotebookPage]:
    write_notebook(tmp_path / "view.ipynb", CELLS)
    with serve_jupyter_lab(tmp_path) as url, open_browser() as browser, watch_page(browser, url) as page:
        yield NotebookPage(page, url, "view.ipynb")


def read_facet(view: Locator, name: str) -> str | None:
    return view.locator("[data-pane=what] .rk-facet", has_text=name).first.get_attribute("aria-pressed")


def type_in_a_drawer(notebook: NotebookPage, view: Locator) -> None:
    """What is typed in a view is no command of the notebook, such as `b` for a new cell and `x` to cut one."""
    cells = notebook.page.locator(".jp-Notebook .jp-Cell").count()
    view.locator("[data-pane=who] tbody tr button").first.click()
    field = view.locator(".al-drawer textarea").first
    field.press_sequentially("abxdd")
    assert field.input_value() == "abxdd"
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == cells
    notebook.page.keyboard.press("Escape")
    view.locator(".al-drawer").wait_for(state="detached")


def test_a_click_in_a_cell_is_data_in_the_next_one(notebook: NotebookPage, tmp_path: Path) -> None:
    notebook.run(1)
    first = notebook.run(2)
    first.locator(LIVE).wait_for()
    first.locator("[data-pane=what] .rk-facet", has_text="Gateway").click()
    first.locator("[data-pane=what] .rk-facet[aria-pressed=true]", has_text="Gateway").wait_for()
    type_in_a_drawer(notebook, first)
    assert "RiskState(source='gateway')" in notebook.run(3).inner_text()

    second = notebook.run(4)
    second.locator(LIVE).wait_for()
    assert [read_facet(each, "Gateway") for each in (first, second)] == ["true", "false"]
    assert second.evaluate("part => getComputedStyle(part).overflowX") != "scroll"

    alone = notebook.run(5)
    alone.locator(LIVE).wait_for()
    assert alone.locator("[data-pane=when]").count() == 1
    assert alone.locator("[data-pane=who]").count() == 0
    assert notebook.run(6).inner_text().strip().endswith("30")
    alone.locator("[data-pane=when]", has_text="Payments").wait_for()

    notebook.save()
    saved = json.loads((tmp_path / "view.ipynb").read_text())
    assert "widgets" not in saved["metadata"]
    stored = [output.get("data", {}) for cell in saved["cells"] for output in cell["outputs"]]
    assert {kind for data in stored for kind in data} <= {"text/plain", "text/html"}
    assert sum('class="al-fragment"' in "".join(data.get("text/html", "")) for data in stored) == 3


def test_a_view_begins_where_the_top_of_its_still_is_in_sight(notebook: NotebookPage) -> None:
    notebook.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    for number in (2, 4):
        place = notebook.find_cell(number).locator("[data-al-view]")
        place.locator(".al-fragment, [data-ready]").first.wait_for(state="attached")
        place.evaluate("part => part.scrollIntoView({ block: 'start' })")
        place.locator("[data-ready]:not([data-ready=''])").wait_for()
