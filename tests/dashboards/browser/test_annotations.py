"""Annotations: who points at a time of one chart and says what happened finds it at every chart of that time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.browser import needs_chromium
from support.dashboards.clicks import Finger, Mouse
from support.dashboards.demo_server import OWNER, DemoServer
from support.dashboards.windows import HAND, Windows, list_failed_panes

pytestmark = needs_chromium

DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboards.md"
TEXT = "Campaign of a partner"
COLUMN = "[data-pane=when] g.rk-column[data-span]"
FLAG = ".al-flag"


@pytest.fixture(autouse=True)
def no_annotations(demo: DemoServer) -> Iterator[None]:
    """Leave no annotation in the demo that the tests of all pages share."""
    yield
    with demo.connect() as lab:
        for note in [*lab.as_(OWNER, password=demo.made["people_password"]).annotations]:
            note.remove()


def annotate(mouse: Mouse, place: int) -> None:
    """Point at a column of the risk page, and write what happened then."""
    column = mouse.page.locator(COLUMN).nth(place)
    if isinstance(mouse, Finger):
        column.tap()
    else:
        column.hover()
    mouse.click("[data-pane=when] [data-annotate]", redraws=False)
    mouse.page.get_by_label("Text, one line").fill(TEXT)
    mouse.page.keyboard.press("Enter")


def expect_flag(page: Page, within: str = "#al-main") -> None:
    expect(page.locator(f"{within} {FLAG}").first).to_have_attribute("data-tip", re.compile(f": {TEXT}$"))


def test_a_time_that_is_annotated_once_is_marked_on_every_page(windows: Windows, demo: DemoServer) -> None:
    most = re.search(r"^\| Annotate a time \| .+ \| (\d) \|$", DOCUMENT.read_text(), re.M)
    assert most is not None
    with windows.visit("/dash/risk") as page:
        mouse = Mouse(page)
        annotate(mouse, 20)
        expect_flag(page, "[data-pane=when]")
        assert mouse.clicks <= int(most[1])
        span = str(page.locator(COLUMN).nth(20).get_attribute("data-span"))
    with demo.connect() as lab:
        (note,) = lab.annotations
        began, ended = (datetime.fromisoformat(end) for end in re.split(r"[/,]", span))
        assert (note.text, began <= note.at < ended) == (TEXT, True)
    for path in ("log", "usage", "issuers"):
        with windows.visit(f"/dash/{path}") as page:
            expect_flag(page)
            assert list_failed_panes(page) == []


def test_its_writer_removes_it_from_all_charts(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        annotate(Mouse(page), 20)
        expect_flag(page)
        notes = page.locator("[data-pane=when] .al-notes")
        notes.get_by_text("1 annotation").click()
        notes.get_by_text("Remove", exact=True).click()
        Mouse(page).press("By type")  # what is open stays so when the chart is drawn again
        notes.get_by_role("button", name="Remove it from all charts").click()

        expect(page.locator(FLAG)).to_have_count(0)


def test_a_finger_annotates_and_finds_the_words_at_the_mark(windows: Windows) -> None:
    with windows.visit("/dash/risk", **HAND) as page:
        annotate(Finger(page), 20)
        expect_flag(page, "[data-pane=when]")
        page.locator(f"[data-pane=when] {FLAG}").first.tap()

        expect(page.locator("[data-pane=when] .al-notes li b")).to_have_text(TEXT)
        expect(page.locator("[data-pane=when] .al-notes li b")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
