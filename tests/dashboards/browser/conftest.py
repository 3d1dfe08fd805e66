"""A served demo and a browser, which all tests of the folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from support.browser import open_browser
from support.dashboards.demo_server import DemoServer, serve_demo
from support.dashboards.windows import Windows


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A served demo with a year of history."""
    with serve_demo(tmp_path_factory.mktemp("demo")) as server:
        yield server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def windows(browser: Browser, demo: DemoServer) -> Iterator[Windows]:
    """Windows of the demo's people."""
    opened = Windows(browser, demo)
    yield opened
    opened.close()
