"""A tile leads to its rows, by a press of a key: the filter is set, and the focus is there."""

from __future__ import annotations

from support.browser import needs_chromium
from support.dashboards.windows import Windows, read_number, wait_for_redraw

pytestmark = needs_chromium


def test_a_tile_sets_its_filter_and_moves_the_focus_to_its_rows(windows: Windows) -> None:
    with windows.visit("/dash/issuers") as page:
        before = read_number(page)
        page.locator("[data-rows=issuers]", has_text="Active issuers").press("Enter")
        wait_for_redraw(page, before)

        assert page.url.endswith("?status=ACTIVE")
        assert page.locator(":focus").last.get_attribute("data-pane") == "issuers"
