"""A button that does nothing says why: under the pointer, to the Tab key and to a finger."""

from __future__ import annotations

from support.browser import needs_chromium
from support.dashboards.windows import HAND, Windows, read_number

pytestmark = needs_chromium
OFF = "[data-pane=deliveries] button[aria-disabled=true]"


def test_the_reason_is_in_the_tip_and_a_press_does_nothing(windows: Windows) -> None:
    with windows.visit("/dash/issuers") as page:
        off, tip, before = page.locator(OFF).first, page.get_by_role("tooltip"), read_number(page)
        why = off.get_attribute("aria-description")
        assert why
        off.focus()
        assert tip.inner_text() == why
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        off.hover()
        assert tip.inner_text() == why
        page.keyboard.press("Enter")
        assert read_number(page) == before

    with windows.visit("/dash/issuers", **HAND) as page:
        off = page.locator(OFF).first
        off.scroll_into_view_if_needed()
        off.tap(force=True)  # Playwright would wait until it is enabled
        page.get_by_role("tooltip").wait_for()
        assert page.get_by_role("tooltip").inner_text() == why
        assert page.locator("[role=dialog]").count() == 0
