"""The Chromium of the machine, for figures of what a person waits for; it gets no address of another host."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

_CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# What the browser would like to know from elsewhere, it gets no address for.
_ARGUMENTS: Final = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


def has_chromium() -> bool:
    """Whether there is a Chromium; without one, say which figures are missing and how to get it."""
    if _CHROMIUM is None:
        print("No Chromium on this machine, so no figures of a browser; apt-get install chromium", file=sys.stderr)
    return _CHROMIUM is not None


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start Chromium without a window; it ends with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()
