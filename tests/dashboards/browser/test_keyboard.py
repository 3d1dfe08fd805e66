"""A person with a keyboard alone: Tab reaches all that a mouse can use, Esc leads back, and nothing traps the focus."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page

from support.browser import needs_chromium
from support.dashboards.page_scripts import WATCH_FOCUS
from support.dashboards.windows import Windows, read_number, wait_for_redraw

pytestmark = needs_chromium

PARTS_OF_DATES = 30  # more than all further stops of a page: month, day, year, hour, minute and calendar of each field
MIN_STOPS = {"usage": 27}  # a page that has fewer is not drawn whole; the other pages have more than forty
# What opens the drawer or dialog of each page.
OPENERS = {
    "risk": "[data-pane=who] tr[data-row] button.al-open",
    "policy": "[data-pane=activation] button[data-ev=dialog]",
    "log": "[data-pane=entries] tr[data-row] button.al-open",
    "issuers": "[data-pane=issuers] button.is-act",
    "access": "[data-pane=keys] tr[data-row] button.al-open",
}


@pytest.mark.parametrize(
    "path", ["log", *(pytest.param(path, marks=pytest.mark.soak) for path in (*OPENERS, "usage") if path != "log")]
)
def test_tab_reaches_all_that_a_mouse_can_use_and_shows_where_it_is(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}") as page:
        stops = page.evaluate(WATCH_FOCUS)
        for _ in range(stops + PARTS_OF_DATES):
            page.keyboard.press("Tab")
        found = page.evaluate("window.walk()")

    assert stops >= MIN_STOPS.get(path, 41)
    assert found == {"missed": [], "unseen": []}


@pytest.mark.parametrize(
    "path", ["risk", "issuers", *(pytest.param(path, marks=pytest.mark.soak) for path in ("policy", "log", "access"))]
)
def test_esc_closes_what_enter_opened_and_the_focus_returns(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}") as page:
        opener = page.locator(OPENERS[path]).first
        key = opener.get_attribute("data-key")
        opener.focus()
        press(page, "Enter")
        assert page.locator("[role=dialog] :focus, [role=dialog]:focus").count() == 1
        press(page, "Escape")
        assert page.locator("[role=dialog]").count() == 0
        assert key
        assert page.locator(":focus").last.get_attribute("data-key") == key


@pytest.mark.parametrize("path", ["issuers?ask=add"])
def test_a_dialog_keeps_the_focus_both_ways(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}") as page:
        page.locator("[role=dialog] button").last.focus()
        page.keyboard.press("Tab")
        assert page.locator("[role=dialog] :focus").count() == 1
        page.keyboard.press("Shift+Tab")
        assert page.locator("[role=dialog] button:focus").count() == 1


def test_enter_selects_the_time_of_a_column_and_shift_enter_extends_it(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        columns = page.locator("[data-pane=when] [data-span]")
        spans = [str(column.get_attribute("data-span")).split("/") for column in columns.all()]
        columns.nth(5).focus()
        press(page, "Enter")
        assert read_span(page) == spans[5]
        columns.nth(8).focus()
        press(page, "Shift+Enter")
        assert read_span(page) == [spans[5][0], spans[8][1]]
        columns.nth(2).focus()
        press(page, "Space")
        assert read_span(page) == spans[2]


def read_span(page: Page) -> list[str]:
    """Return the two ends of the selected time in the address."""
    query = dict(parse_qsl(urlsplit(page.url).query))
    return [query["from"], query["to"]]


def test_a_drawer_lets_the_focus_out(windows: Windows) -> None:
    with windows.visit("/dash/log?entry=3") as page:
        page.locator(".al-drawer a, .al-drawer button").last.focus()
        page.keyboard.press("Tab")

        assert page.locator(".al-drawer :focus").count() == 0


def press(page: Page, key: str) -> None:
    """Press a key, and wait for the state that follows."""
    before = read_number(page)
    page.keyboard.press(key)
    wait_for_redraw(page, before)
