"""Chromium for tests: where it is, how it starts, and what axe finds on a page.

Chromium comes from the system. Where there is none, the tests that need it are skipped and say so. Continuous
integration requires it once it has installed it, so that no test is skipped unseen.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from support.timeouts import WAIT_TIMEOUT_S

VARIABLE = "REQUIRE_BROWSER_TESTS"  # without the prefix of settings: a server warns of one that it does not know
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# What the browser would like to know from elsewhere, it gets no address for.
ALONE = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
WAIT_TIMEOUT_MS = 1000 * WAIT_TIMEOUT_S
SERIOUS = ("critical", "serious")
_RIGHT_EDGE = """Math.max(
    document.documentElement.scrollWidth,
    ...Array.from(document.querySelectorAll("body *"), (part) => part.getBoundingClientRect().right),
)"""


def is_required() -> bool:
    """Whether a machine without Chromium fails the tests that need it, instead of skipping them."""
    return os.environ.get(VARIABLE) == "1"


needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not is_required(), reason="no Chromium on this machine; apt-get install chromium"
)


@contextmanager
def open_browser(*arguments: str) -> Iterator[Browser]:
    """Start Chromium without a window and without other hosts; it ends with the block."""
    assert CHROMIUM is not None, f"{VARIABLE} is set, and there is no Chromium; apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*ALONE, *arguments], timeout=WAIT_TIMEOUT_MS
        )
        yield browser
        browser.close()


def open_profile(browser: Browser, **options: Any) -> BrowserContext:
    """Open a new profile, whose windows wait as long as the tests do: by default, they give up after 30 s."""
    profile = browser.new_context(**options)
    profile.set_default_timeout(WAIT_TIMEOUT_MS)
    return profile


def list_violations(page: Page, *impacts: str) -> list[str]:
    """What axe finds on a page, as rule and element; with `impacts`, only what has one of these."""
    found = Axe().run(page).response["violations"]
    rules = [rule for rule in found if not impacts or rule["impact"] in impacts]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in rules for node in rule["nodes"]]


def find_right_edge(page: Page) -> float:
    """How far to the right a page reaches, in pixels: text that scrolls, and parts that a card clips."""
    edge: float = page.evaluate(_RIGHT_EDGE)
    return edge
