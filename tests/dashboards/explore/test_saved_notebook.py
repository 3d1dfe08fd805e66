"""A colleague opens a saved notebook and runs nothing: cards, charts and stills of views are seen, light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from support import patient_http
from support.browser import needs_chromium, open_browser
from support.jupyter_lab import LIVE, THEMES, NotebookPage, serve_jupyter_lab, watch_page, write_notebook

pytestmark = needs_chromium
NAME = "saved.ipynb"
VIEW, PANE = 4, 5
CELLS = (
    "import attestlab\nfrom support import risk_story\n\nlab = attestlab.demo(history=False)\nrisk_story.tell(lab)",
    "lab",
    'lab.signals.plot("volume", by="source")',
    'view = lab.explore("risk")\nview',
    'view["who"]',
)
WITHOUT_KERNELS = ("--KernelSpecManager.allowed_kernelspecs=none", "--KernelSpecManager.ensure_native_kernel=False")
UNSTYLED = ".al-unstyled"


@pytest.fixture
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def run_and_save(browser: Browser, folder: Path) -> Path:
    """Run the notebook as its author does, and save it."""
    write_notebook(folder / NAME, CELLS)
    with serve_jupyter_lab(folder) as url, watch_page(browser, url) as page:
        notebook = NotebookPage(page, url, NAME)
        for number in range(1, len(CELLS) + 1):
            notebook.run_by_command(number)
            if number in (VIEW, PANE):
                notebook.find_cell(number).locator(LIVE).wait_for()
        notebook.save()
        notebook.shut_down()
    return folder / NAME


def find_still(notebook: NotebookPage, number: int) -> Locator:
    return notebook.find_cell(number).locator(".al-fragment")


def require_words_of_all(notebook: NotebookPage) -> None:
    expect(notebook.find_cell(2).locator("table").first).to_contain_text("signals")
    expect(notebook.find_cell(3).locator("img")).to_be_visible()
    expect(find_still(notebook, VIEW)).to_contain_text("Entities affected")
    expect(find_still(notebook, PANE).locator("tbody tr").first).to_be_visible()


def require_readable(notebook: NotebookPage, theme: str) -> None:
    notebook.show_theme(theme)
    for number in range(2, len(CELLS) + 1):
        notebook.find_cell(number).scroll_into_view_if_needed()
        assert notebook.list_cut_parts(number) == []
    assert notebook.list_faint_texts() == []


def test_a_colleague_sees_all_of_it_without_a_kernel(caches: None, browser: Browser, tmp_path: Path) -> None:
    """First without trust, where JupyterLab shows words and pictures alone, then with it."""
    folders = tmp_path / "author", tmp_path / "colleague"
    for folder in folders:
        folder.mkdir()
    shutil.copy(run_and_save(browser, folders[0]), folders[1])
    with serve_jupyter_lab(folders[1], *WITHOUT_KERNELS) as url, watch_page(browser, url) as page:
        notebook = NotebookPage(page, url, NAME, has_kernel=False)
        page.locator(".jp-Dialog button", has_text="No Kernel").click()
        require_words_of_all(notebook)
        expect(find_still(notebook, VIEW).locator(UNSTYLED)).to_be_visible()
        notebook.trust()
        expect(find_still(notebook, VIEW).locator(UNSTYLED)).to_be_hidden()
        expect(find_still(notebook, VIEW).locator("[data-pane=when] svg rect").first).to_be_attached()
        require_words_of_all(notebook)
        for theme in THEMES:
            require_readable(notebook, theme)
        assert patient_http.get(f"{url}/api/kernels").json() == []
