"""A person with a mouse: finds an answer by clicks alone, which are counted. What is typed needs no click."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page

from support.dashboards.windows import MAIN, read_number, wait_for_redraw


class Mouse:
    """Clicks in a window, and counts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, target: str | Locator, *, redraws: bool = True) -> None:
        """Click, and wait until the page shows the state that follows."""
        before = read_number(self.page)
        self._touch(self._find(target))
        self.clicks += 1
        if redraws:
            wait_for_redraw(self.page, before)

    def press(self, name: str, within: str = MAIN) -> None:
        """Click the first button of this name."""
        self.click(self.page.locator(within).get_by_role("button", name=name).first)

    def choose(self, target: str | Locator, value: str) -> None:
        """Choose from a list: one click opens it, one chooses."""
        before = read_number(self.page)
        self._find(target).select_option(value)
        self.clicks += 2
        wait_for_redraw(self.page, before)

    def choose_file(self, target: str | Locator, file: Path) -> None:
        """Choose a file: one click on the button, and one in the window of the system."""
        before = read_number(self.page)
        self._find(target).set_input_files(file)
        self.clicks += 2
        wait_for_redraw(self.page, before)

    def read(self, target: str | Locator) -> str:
        """Read the words of a part of the page, with single spaces."""
        return " ".join(self._find(target).inner_text().split())

    def read_pane(self, key: str) -> str:
        """Read the words of a pane."""
        return self.read(f"[data-pane='{key}']")

    def _touch(self, part: Locator) -> None:
        part.click()

    def _find(self, target: str | Locator) -> Locator:
        return self.page.locator(target).first if isinstance(target, str) else target


class Finger(Mouse):
    """Taps in the window of a phone, and counts."""

    def _touch(self, part: Locator) -> None:
        part.tap()
