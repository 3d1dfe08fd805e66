"""Panes of a view side by side with other components of Panel: in a cell, and served by `panel serve`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from support.browser import needs_chromium, open_browser, open_profile
from support.dashboards.windows import DESK, PageWatch
from support.jupyter_lab import NotebookPage, serve_jupyter_lab, watch_page, write_notebook
from support.ports import hold_port
from support.started_servers import wait_for_server
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = needs_chromium
CELLS = (
    """\
import attestlab
import panel as pn
from support import risk_story

pn.extension(inline=True)
lab = attestlab.demo(history=False)
risk_story.tell(lab)
view = lab.explore("risk")""",
    'pn.Row(view["what"], pn.Column("# Beside it", view["when"])).servable()',
    "view.state",
)


@pytest.fixture
def folder(caches: None, tmp_path: Path) -> Path:
    write_notebook(tmp_path / "composed.ipynb", CELLS)
    return tmp_path


def choose_gateway(row: Page | Locator) -> None:
    """Click a source in one pane; the other one follows."""
    row.locator("[data-pane=what] .rk-facet", has_text="Gateway").click()
    row.locator("[data-pane=what] .rk-facet[aria-pressed=true]", has_text="Gateway").wait_for()
    row.locator("[data-pane=when]", has_text="Gateway").wait_for()
    assert row.get_by_text("Beside it").is_visible()


def test_panes_are_composed_in_a_cell(folder: Path) -> None:
    with serve_jupyter_lab(folder) as url, open_browser() as browser, open_profile(browser, viewport=DESK) as profile:
        page = profile.new_page()
        watched = PageWatch(page)  # of its requests: Panel's scripts in JupyterLab sometimes complain of their own
        notebook = NotebookPage(page, url, "composed.ipynb")
        notebook.run(1)
        choose_gateway(notebook.run(2))
        assert "RiskState(source='gateway')" in notebook.run(3).inner_text()
        assert watched.list_foreign_requests(url) == []


def test_a_notebook_is_served_with_its_panes(folder: Path) -> None:
    with serve_by_panel(folder / "composed.ipynb") as url, open_browser() as browser, watch_page(browser, url) as page:
        page.goto(f"{url}/composed", timeout=WAIT_TIMEOUT_S * 1_000)
        choose_gateway(page)


@contextmanager
def serve_by_panel(notebook: Path) -> Iterator[str]:
    """Serve a notebook with Panel's command; yields the address of the server."""
    with hold_port() as port:
        place = f"127.0.0.1:{port}"
        command = (sys.executable, "-m", "panel", "serve", notebook, f"--port={port}", "--address=127.0.0.1")
        with (notebook.parent / "log").open("w") as log:
            process = subprocess.Popen([*command, f"--allow-websocket-origin={place}"], stdout=log, stderr=log)
        try:
            wait_for_server(f"http://{place}/favicon.ico", process)
            yield f"http://{place}"
        finally:
            process.terminate()
            process.wait()
