"""A page outlives the processes behind it: its person stays signed in, with the filters and the text of a draft."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

from support.browser import needs_chromium
from support.dashboards.demo_server import DemoServer, serve_demo, serve_folder
from support.dashboards.windows import READY, Windows
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = needs_chromium

ADDRESS = "/dash/policy?window=30d"
AREA = "textarea[data-keep]"
ADDED = "# a remark\n"


def type_draft(page: Page) -> str:
    """Type what is not replayed yet, so that this tab alone has it."""
    text = ADDED + page.input_value(AREA)
    page.fill(AREA, text)
    return text


def check_return(page: Page, text: str) -> None:
    page.wait_for_selector(READY)
    page.wait_for_selector(AREA)
    assert page.url.endswith(ADDRESS)
    assert page.input_value(AREA) == text
    assert "not replayed yet" in page.locator("[data-kept]").inner_text()


def test_a_draft_survives_the_end_of_the_dashboards_process(windows: Windows, demo: DemoServer) -> None:
    with windows.visit_unwatched(ADDRESS) as page:
        text = type_draft(page)
        with page.expect_navigation():
            os.kill(*demo.find_dashboards(), signal.SIGTERM)
            page.get_by_text("It comes back by itself").wait_for()
        check_return(page, text)


def test_a_draft_survives_a_restart_of_the_service(browser: Browser, tmp_path: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(serve_demo(tmp_path))
        page = stack.enter_context(Windows(browser, first).visit_unwatched(ADDRESS))
        text = type_draft(page)
        first.process.kill()
        page.get_by_text("It comes back by itself").wait_for()
        with page.expect_navigation(timeout=1000 * WAIT_TIMEOUT_S):
            stack.enter_context(serve_folder(tmp_path, port=urlsplit(first.url).port or 0))
        check_return(page, text)
