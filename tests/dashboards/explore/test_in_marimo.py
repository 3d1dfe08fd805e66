"""A view in a real marimo: it is clicked there, and the cells that read its state run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.browser import needs_chromium, open_browser
from support.jupyter_lab import watch_page
from support.marimo_notebook import serve_marimo, write_marimo

pytestmark = needs_chromium
CELLS = (
    """\
def _():
    import marimo as mo
    import attestlab

    lab = attestlab.demo(history=False)
    return lab, mo""",
    """\
def _(lab, mo):
    view = lab.explore("risk", days=7)
    get_state, set_state = mo.state(view.state)
    _watcher = view.param.watch(lambda change: set_state(change.new), "state")
    return get_state, view""",
    """\
def _(get_state, mo, view):
    mo.vstack([mo.md(f"The window is {get_state().window}."), view])
    return""",
)
VIEW = "[data-ready]:not([data-ready=''])"


@pytest.fixture
def page(caches: None, tmp_path: Path) -> Iterator[Page]:
    write_marimo(tmp_path / "view.py", CELLS)
    with serve_marimo(tmp_path / "view.py") as url, open_browser() as browser, watch_page(browser, url) as page:
        page.goto(url)
        yield page


def choose(page: Page, words: str, window: str) -> None:
    """Choose another window in a view, which its cell shows again when the state has changed."""
    page.locator(VIEW).get_by_role("button", name=words).click()
    page.get_by_text(f"The window is {window}.").wait_for()
    page.locator(VIEW).locator("[aria-pressed=true]", has_text=words).wait_for()


def test_a_click_runs_the_cells_that_read_the_state(page: Page) -> None:
    page.locator(VIEW).get_by_text("Entities affected").wait_for()
    page.get_by_text("The window is 7d.").wait_for()
    choose(page, "30 days", "30d")
    choose(page, "90 days", "90d")

    page.emulate_media(color_scheme="light")  # of the system, which the notebook does not follow
    expect(page.locator(VIEW)).to_have_css("color-scheme", "dark")
