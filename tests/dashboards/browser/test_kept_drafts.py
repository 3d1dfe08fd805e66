"""Text of a policy that is not replayed yet survives a reload, and never covers the draft of another link."""

from __future__ import annotations

from playwright.sync_api import Page

from attestlab_dashboards.policy.notation import MAX_ADDRESS_CHARS, encode_draft
from support.browser import needs_chromium
from support.dashboards.windows import READY, Windows, read_number, wait_for_redraw

pytestmark = needs_chromium

AREA = "textarea[data-keep]"
HINT = "[data-kept]"
ADDED = "# a remark\n"


def reload(page: Page) -> None:
    page.reload()
    page.wait_for_selector(READY)
    page.wait_for_selector(AREA)


def test_typed_text_survives_a_reload_until_it_is_dropped(windows: Windows) -> None:
    with windows.visit("/dash/policy", fresh=True) as page:
        stored = page.input_value(AREA)
        page.fill(AREA, ADDED + stored)
        reload(page)
        assert page.input_value(AREA) == ADDED + stored
        assert "not replayed yet" in page.locator(HINT).inner_text()
        page.locator(f"{HINT} button").click()
        assert page.input_value(AREA) == stored
        assert page.locator(HINT).is_hidden()
        reload(page)
        assert page.input_value(AREA) == stored


def test_typed_text_does_not_cover_the_draft_of_another_link(windows: Windows) -> None:
    with windows.visit("/dash/policy", fresh=True) as page:
        stored = page.input_value(AREA)
        page.fill(AREA, ADDED + stored)
        other = f"# theirs\n{stored}"
        page.goto(f"{windows.url}/dash/policy?draft={encode_draft(other)}")
        page.wait_for_selector(READY)
        assert page.input_value(AREA) == other


def test_a_draft_that_no_link_can_carry_survives_a_reload(windows: Windows) -> None:
    with windows.visit("/dash/policy", fresh=True) as page:
        long = f"{page.input_value(AREA)}\n# {'x' * MAX_ADDRESS_CHARS}\n"
        page.fill(AREA, long)
        before = read_number(page)
        page.locator("[data-key=replay-draft]").click()
        wait_for_redraw(page, before)
        reload(page)
        assert page.input_value(AREA) == long
