"""The search in the bar: `/` opens it, suggestions come while a person types, keys and taps open them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from attestlab import Lab
from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.demo_server import DemoServer
from support.dashboards.windows import HAND, READY, Windows

pytestmark = needs_chromium


def type_text(page: Page, text: str) -> None:
    page.keyboard.press("/")
    expect(page.locator("#al-search")).to_be_focused()
    page.keyboard.type(text)
    expect(page.locator("#al-found")).to_be_visible()


def test_an_issuer_is_opened_by_keys_alone(windows: Windows) -> None:
    with windows.visit("/dash/log", reduced_motion="reduce") as page:
        type_text(page, "canton")
        option = page.locator("#al-found [role=option]", has_text="Canton Archive")
        expect(option).to_be_visible()
        assert list_violations(page, *SERIOUS) == []
        keep_picture(page, "search-desk")
        page.keyboard.press("ArrowDown")
        expect(option).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/dash/issuers\?issuer=[0-9a-f-]{36}"))


def test_nothing_found_is_said_in_neutral_words_and_escape_closes_it(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        type_text(page, "<b>no such thing</b>")
        expect(page.locator("#al-found")).to_contain_text("Nothing that you may read has “<b>no such thing</b>”.")
        assert page.locator("#al-found b").count() == 0
        assert list_violations(page, *SERIOUS) == []
        page.keyboard.press("Escape")
        expect(page.locator("#al-found")).to_be_hidden()
        expect(page.locator("#al-search")).to_have_value("<b>no such thing</b>")


def test_a_hash_of_no_attested_document_is_said_in_red(windows: Windows) -> None:
    with windows.visit("/dash/issuers") as page:
        type_text(page, "0" * 64)
        expect(page.locator("#al-found .bad")).to_have_text(
            "Not attested No issuer has attested this document in the log."
        )
        assert list_violations(page, *SERIOUS) == []


def test_a_file_dropped_on_the_bar_is_looked_up_and_named(windows: Windows) -> None:
    with windows.visit("/dash/usage") as page:
        drop_file(page, ".al-find", "<i>letter</i>.txt", "never attested")
        page.wait_for_url(re.compile(r"/dash/log\?q=[0-9a-f]{64}&file="))
        page.wait_for_selector(READY)
        alarm = page.locator("[data-pane=answer] [role=alert]")
        expect(alarm).to_contain_text("Not attested: <i>letter</i>.txt")
        assert list_violations(page, *SERIOUS) == []
        keep_picture(page, "not-attested")


def drop_file(page: Page, place: str, name: str, text: str) -> None:
    files = page.evaluate_handle(
        """([name, text]) => {
          const files = new DataTransfer();
          files.items.add(new File([text], name));
          return files;
        }""",
        [name, text],
    )
    page.dispatch_event(place, "drop", {"dataTransfer": files})


def test_a_case_is_found_by_half_a_device_id_on_a_phone_in_two_taps(windows: Windows, demo: DemoServer) -> None:
    half = find_device_of_a_case(demo)
    with windows.visit("/dash/risk", reduced_motion="reduce", **HAND) as page:
        page.tap("#al-search")
        page.keyboard.type(half)
        case = page.locator('#al-found [aria-label="Cases"] [role=option]').first
        expect(case).to_contain_text("Open")
        keep_picture(page, "search-phone")
        box, target = page.locator("#al-found").bounding_box(), case.bounding_box()
        assert box is not None
        assert target is not None
        assert (box["width"], target["height"] >= 40) == (390, True)
        assert list_violations(page, *SERIOUS) == []
        case.tap()
        page.wait_for_url(re.compile(r"/dash/risk\?entity="))


def find_device_of_a_case(demo: DemoServer) -> str:
    """The first half of the id of a device to which an open case is linked."""
    with demo.connect() as lab:
        return first_half(lab)


def first_half(lab: Lab) -> str:
    device = lab.cases.groups("device")[0].key
    return device[: len(device) // 2 + 3]


def keep_picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SEARCH_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png")
