"""The queue of cases by keys alone, which are counted, and by touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from support.browser import needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import MEMBER
from support.dashboards.windows import HAND, Windows, read_number, wait_for_redraw

pytestmark = needs_chromium

QUEUE = "[data-queue]"
ROWS = f"{QUEUE} [data-row]"
DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboards.md"
NOTICE = "#al-notices .al-toast"


class Keyboard:
    """Presses keys in a window, and counts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.keys = 0

    def press(self, *keys: str) -> None:
        """Press keys that change nothing at the service."""
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1

    def decide(self, *keys: str) -> None:
        """Press keys of which the last one writes, and wait for the page that follows."""
        before = read_number(self.page)
        self.press(*keys)
        wait_for_redraw(self.page, before)

    def focused(self) -> str:
        """The case whose row has the focus."""
        return str(self.page.locator(f"{ROWS}:focus").get_attribute("data-row"))


def list_rows(page: Page) -> list[str]:
    return [str(row.get_attribute("data-row")) for row in page.locator(ROWS).all()]


def count_open(page: Page) -> int:
    words = page.locator("[data-pane=cases] .chip", has_text="Open").inner_text()
    return int(words.split()[1].replace(",", ""))


def test_twenty_cases_take_at_most_sixty_keys(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=case") as page:
        keyboard, before, rows = Keyboard(page), count_open(page), list_rows(page)
        keyboard.press("j")
        for number in range(20):
            assert keyboard.focused() == rows[number]
            keyboard.decide(str(1 + number % 3), "Enter")
        after = count_open(page)
        keyboard.decide("u")
        undone = list_rows(page)

    assert "Twenty cases take 41 keys" in DOCUMENT.read_text()
    assert keyboard.keys - 1 <= 41
    assert before - after == 20
    assert rows[19] in undone
    assert rows[18] not in undone


def test_all_cases_of_a_group_are_resolved_and_undone(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=ip") as page:
        before, mouse = count_open(page), Mouse(page)
        together = page.locator("[data-queue-all]").first
        size = int(str(together.get_attribute("data-count")))
        mouse.click(together, redraws=False)
        assert f"All {size}" in page.locator("[data-queue-scope]").inner_text()
        mouse.click("[data-outcome=fraud]")
        assert count_open(page) == before - size
        assert f"{size} cases resolved as confirmed fraud" in page.locator(NOTICE).inner_text()
        mouse.click(".al-undo")
        assert count_open(page) == before
        assert f"*Undo* | {mouse.clicks} |" in DOCUMENT.read_text()


def test_no_outcome_is_chosen_before_the_person_does(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=case") as page:
        before = count_open(page)
        page.locator(f"{QUEUE} [name=note]").press("Enter")
        assert "Choose an outcome first" in page.locator("[data-queue-scope]").inner_text()
        assert page.locator(NOTICE).count() == 0
        assert count_open(page) == before


def test_keys_select_assign_open_and_show_themselves(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=case") as page:
        keyboard = Keyboard(page)
        keyboard.press("j", "x", "ArrowDown", "x")
        assert page.locator("[data-queue-scope]").inner_text() == "2 cases"
        keyboard.decide("a")
        assert "2 cases assigned to you" in page.locator(NOTICE).inner_text()
        assert page.locator(f"{ROWS} .rk-case-owner", has_text="you").count() == 2
        keyboard.press("?")
        assert page.locator("[data-queue-keys]").is_visible()
        entity = page.locator(f"{ROWS}:focus").get_attribute("data-entity")
        keyboard.decide("Enter")
        assert entity
        assert entity.partition(":")[2] in page.locator("[role=dialog]").inner_text()


def test_an_outcome_of_the_drawer_is_undone_by_a_key(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=case") as page:
        keyboard, before = Keyboard(page), count_open(page)
        keyboard.press("j")
        keyboard.decide("Enter")
        page.locator("[role=dialog] [name=outcome]").select_option("fraud")
        number = read_number(page)
        page.locator("[role=dialog] button", has_text="Resolve the case").click()
        wait_for_redraw(page, number)
        assert "Case resolved as confirmed fraud" in page.locator(NOTICE).inner_text()
        assert count_open(page) == before - 1
        page.locator("[role=dialog] h2").click()
        keyboard.decide("u")
        assert count_open(page) == before
        assert page.locator("[role=dialog] [name=outcome]").count() == 1


def test_a_comment_says_who_wrote_it_when_and_stands_in_the_queue(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=case") as page:
        keyboard = Keyboard(page)
        keyboard.press("j")
        keyboard.decide("Enter")
        form = page.locator("[role=dialog] form[data-act=comment]").first
        form.locator("textarea").fill("Sofia confirmed the login.\nSee ticket 7.")
        number = read_number(page)
        form.locator("button").click()
        wait_for_redraw(page, number)
        written = page.locator("[role=dialog] .rk-comments li").first.inner_text().split("\n")
        assert [line for line in written if line] == ["You just now", "Sofia confirmed the login.", "See ticket 7."]
        assert page.locator("[role=dialog] form[data-act=comment] textarea").first.input_value() == ""
        assert "“Sofia confirmed the login." in page.locator(QUEUE).inner_text()
    with windows.visit("/dash/risk?queue=case", person=MEMBER) as page:
        number = read_number(page)
        page.locator(f"{ROWS} [data-ev=entity]").first.click()
        wait_for_redraw(page, number)
        assert "Sofia confirmed the login." in page.locator("[role=dialog] .rk-comments").inner_text()
        assert page.locator("[role=dialog] form[data-act=comment]").count() == 0


def test_who_may_not_resolve_sees_why(windows: Windows) -> None:
    with windows.visit("/dash/risk?queue=case", person=MEMBER) as page:
        assert "you need the role analyst" in page.locator(QUEUE).inner_text()
        assert page.locator(f"{QUEUE} [data-decide], {QUEUE} [data-pick]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_decides_by_touch(windows: Windows, scheme: str, tmp_path: Path) -> None:
    with windows.visit("/dash/risk?queue=device", color_scheme=scheme, **HAND) as page:
        number = read_number(page)
        page.locator(f"{ROWS} [data-pick]").first.tap()
        page.locator("[data-outcome=inconclusive]").tap()
        wait_for_redraw(page, number)
        assert "1 case resolved as inconclusive" in page.locator(NOTICE).inner_text()
        number = read_number(page)
        page.locator(".al-undo").tap()
        wait_for_redraw(page, number)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
