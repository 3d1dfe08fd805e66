"""A tile leads to its rows, by a key or a finger: the filter is set, and the focus is there. Its line has tips."""

from __future__ import annotations

import re

import pytest

from attestlab_dashboards.page_list import PAGES
from support.browser import needs_chromium
from support.dashboards.windows import HAND, Windows, read_number, wait_for_redraw

pytestmark = needs_chromium

FACTS = {"log": 2}  # tiles that state a fact which no row of the page has: the witnesses, and the last check


def test_a_tile_sets_its_filter_and_moves_the_focus_to_its_rows(windows: Windows) -> None:
    with windows.visit("/dash/issuers") as page:
        before = read_number(page)
        page.locator("[data-rows=issuers]", has_text="Active issuers").press("Enter")
        wait_for_redraw(page, before)

        assert page.url.endswith("?status=ACTIVE")
        assert page.locator(":focus").last.get_attribute("data-pane") == "issuers"


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_each_tile_of_rows_moves_the_focus_to_them_by_a_tap(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}", **HAND) as page:
        tiles = page.locator(".kpi")
        assert tiles.locator(".al-rows").count() >= tiles.count() - FACTS.get(path, 0)
        for place in range(tiles.locator(".al-rows").count()):
            tile = tiles.locator(".al-rows").nth(place)
            before, event = read_number(page), tile.get_attribute("data-ev")
            tile.tap()
            if event:
                wait_for_redraw(page, before)
            assert page.locator(":focus").last.get_attribute("data-pane") == tile.get_attribute("data-rows")


def test_the_line_of_a_tile_tells_its_numbers_to_pointer_key_and_finger(windows: Windows) -> None:
    bubble = ".al-bubble:not([hidden])"
    with windows.visit("/dash/risk") as page:
        line = page.locator(".kpi .sp").first
        line.locator(".al-hit").nth(3).hover()
        hovered = page.locator(bubble).inner_text()
        page.mouse.move(0, 0)
        line.focus()
        focused = page.locator(bubble).inner_text()
    with windows.visit("/dash/risk", **HAND) as page:
        page.locator(".kpi .sp").first.locator(".al-hit").nth(3).tap()
        tapped = page.locator(bubble).inner_text()

    assert re.fullmatch(r"\d+ \w+: [\d,]+", hovered)
    assert focused.startswith("Signals: ")
    assert tapped == hovered
