"""Every page in a real browser, on the demo: it opens whole, in both modes, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from attestlab_dashboards.page_list import PAGES
from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.windows import (
    DESK,
    HAND,
    READY,
    Windows,
    has_sideways_scrolling,
    list_failed_panes,
    wait_for_redraw,
)

PATHS = [page.path for page in PAGES]
STILL = {"reduced_motion": "reduce"}  # for axe: text has little contrast while it fades in

pytestmark = needs_chromium


@pytest.fixture(scope="module", params=PATHS)
def page(request: pytest.FixtureRequest, windows: Windows) -> Iterator[Page]:
    """Each page once, for tests that only look."""
    with windows.visit(f"/dash/{request.param}", **STILL) as opened:
        yield opened


def test_a_page_answers_in_every_pane(page: Page) -> None:
    question = next(each.question for each in PAGES if page.url.endswith(f"/{each.path}"))

    assert page.locator("h1.q").inner_text() == question
    assert list_failed_panes(page) == []
    assert page.locator("#al-main .answer b").count() >= 1
    assert page.locator(".al-nav a[aria-current=page]").inner_text().split("\n")[0] == page.title().split(" · ")[0]


def test_axe_finds_nothing_serious(page: Page) -> None:
    assert list_violations(page, *SERIOUS) == []


@pytest.mark.soak
@pytest.mark.parametrize("device", [{"viewport": DESK}, HAND], ids=["desk", "phone"])
@pytest.mark.parametrize("path", PATHS)
def test_a_dark_page_is_as_accessible(windows: Windows, path: str, device: dict[str, Any]) -> None:
    with windows.visit(f"/dash/{path}", color_scheme="dark", **STILL, **device) as page:
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert list_violations(page, *SERIOUS) == []
        assert not has_sideways_scrolling(page)


def test_the_theme_is_remembered(windows: Windows) -> None:
    with windows.visit("/dash/log", fresh=True, color_scheme="light") as page:
        page.get_by_label("Dark theme").click()
        assert page.locator("html").get_attribute("data-theme") == "dark"
        page.reload()
        page.wait_for_selector(READY)
        assert page.locator("html").get_attribute("data-theme") == "dark"
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(15, 20, 27)"  # --al-page of tokens.css


def test_slash_goes_to_the_search_and_the_bar_leads_to_the_log(windows: Windows) -> None:
    with windows.visit("/dash/issuers") as page:
        page.keyboard.press("/")
        page.keyboard.type("3")
        page.keyboard.press("Enter")
        page.wait_for_url("**/dash/log?q=3")
        page.wait_for_selector(READY)
        assert list_failed_panes(page) == []


def test_filters_are_in_the_address_and_back_works(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        mouse = Mouse(page)
        whole = mouse.read_pane("kpis")
        mouse.press("7 days")
        narrowed, figures, rows = page.url, mouse.read_pane("kpis"), read_rows(page)
        page.go_back()
        wait_for_redraw(page, 2)
        assert (mouse.read_pane("kpis"), page.url == narrowed) == (whole, False)

    with windows.visit(narrowed.removeprefix(windows.url), fresh=True) as page:  # a copied link, in another browser
        assert (Mouse(page).read_pane("kpis"), read_rows(page)) == (figures, rows)


def read_rows(page: Page) -> list[str | None]:
    """The entities on the page, by their keys."""
    return [row.get_attribute("data-row") for row in page.locator("[data-pane=who] tr[data-row]").all()]
