"""A view in a cell of a real Notebook 7: it is shown whole, clicked, and stays where it is while dialogs open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from support.browser import needs_chromium, open_browser
from support.jupyter_lab import (
    COMPLAINTS_OF_NOTEBOOK_7,
    LIVE,
    NOTEBOOK_7,
    NotebookPage,
    serve_jupyter_lab,
    watch_page,
    write_notebook,
)

pytestmark = needs_chromium
NAME = "view.ipynb"
CELLS = (
    "import attestlab\n\nlab = attestlab.demo()",
    'view = lab.explore("risk", days=7)\nview',
    "view.state.window, view.rows('who').df().empty",
)
READ_TOP = "part => part.getBoundingClientRect().top"


@pytest.fixture
def notebook(caches: None, tmp_path: Path) -> Iterator[NotebookPage]:
    write_notebook(tmp_path / NAME, CELLS)
    with (
        serve_jupyter_lab(tmp_path) as url,
        open_browser() as browser,
        watch_page(browser, url, COMPLAINTS_OF_NOTEBOOK_7) as page,
    ):
        yield NotebookPage(page, url, NAME, place=NOTEBOOK_7)


def choose_30_days(view: Locator) -> None:
    view.locator(LIVE, has_text="Entities affected").wait_for()
    chip = view.get_by_role("button", name="30 days")
    expect(chip).to_have_attribute("aria-pressed", "false")
    chip.click()
    view.locator("[aria-pressed=true]", has_text="30 days").wait_for()
    view.locator(LIVE).wait_for()


def require_calm(view: Locator, opener: Locator, opened: Locator) -> None:
    """What an opener opens is within sight where the notebook stands, and Escape closes it there."""
    opener.evaluate("part => part.scrollIntoView({ block: 'center' })")
    top = view.evaluate(READ_TOP)
    opener.click()
    opened.wait_for()
    expect(opened).to_be_in_viewport(ratio=0.998)
    assert view.evaluate(READ_TOP) == top
    view.page.keyboard.press("Escape")
    opened.wait_for(state="hidden")
    view.page.keyboard.press("/")
    expect(opener).to_be_focused()
    assert view.evaluate(READ_TOP) == top


def test_a_view_is_whole_and_stays_where_it_is(notebook: NotebookPage) -> None:
    notebook.run(1)
    outputs = notebook.run(2)
    choose_30_days(outputs)
    assert notebook.run(3).inner_text().endswith("('30d', False)")

    assert outputs.evaluate("part => part.scrollHeight - part.clientHeight") == 0
    view = outputs.locator(LIVE)
    require_calm(view, view.locator("[data-pane=who] tbody tr button").first, view.locator(".al-drawer"))
    require_calm(view, view.locator("[data-pane=when] [data-annotate]"), view.locator("dialog.al-note"))

    for theme in ("dark", "light"):
        notebook.show_theme(theme)
        expect(view).to_have_css("color-scheme", theme)
