"""The usage page in a real browser: its questions by clicks, a link that another window opens, a phone."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page

from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import MEMBER, DemoServer
from support.dashboards.windows import HAND, PHONE, Windows, has_sideways_scrolling, wait_for_redraw

pytestmark = needs_chromium

CHOSEN = "?meter=attestations&days=365&offer=FREE"


def test_a_person_asks_what_is_used_what_a_plan_changes_and_what_was_paid(
    windows: Windows, demo: DemoServer, tmp_path: Path
) -> None:
    with windows.visit("/dash/usage") as page:
        mouse = Mouse(page)
        assert "of 5,000 verifications are used" in page.locator(".answer").inner_text()
        assert "1 day reached 80 %." in mouse.read_pane("days")
        mouse.press("Attestations")
        mouse.press("A year")
        mouse.press("FREE", "[data-pane=changes]")
        chosen = read_effects(page)
        assert page.url.endswith(CHOSEN)
        assert f"Issuers {count_issuers(demo)} used" in chosen
        page.locator("#tools-invoices summary").click()
        with page.expect_download() as started:
            page.locator("#tools-invoices a", has_text="CSV").click()
        started.value.save_as(tmp_path / "invoices.csv")
        page.go_back()
        wait_for_redraw(page, 4)
        assert page.locator(".us-effects").count() == 0

    with windows.visit(f"/dash/usage{CHOSEN}", fresh=True) as page:  # a copied link, in another browser
        assert read_effects(page) == chosen
    with (tmp_path / "invoices.csv").open() as file, demo.connect() as lab:
        assert [row["number"] for row in csv.DictReader(file)] == [each.number for each in lab.billing]


def count_issuers(demo: DemoServer) -> int:
    """Count the tenant's issuers; tests that ran before on the same demo may have made some."""
    with demo.connect() as lab:
        return next(item.used for item in lab.billing.usage().items if item.resource == "issuers")


def read_effects(page: Page) -> str:
    return page.locator(".us-effects").inner_text()


def test_a_phone_shows_the_page_in_its_own_width(windows: Windows) -> None:
    with windows.visit(f"/dash/usage{CHOSEN}", reduced_motion="reduce", **HAND) as page:
        assert page.evaluate("window.innerWidth") == PHONE["width"]
        assert not has_sideways_scrolling(page)
        assert list_violations(page, *SERIOUS) == []


def test_a_member_sees_the_use_and_not_what_changes_cost(windows: Windows) -> None:
    with windows.visit("/dash/usage", person=MEMBER) as page:
        changes = Mouse(page).read_pane("changes")

        assert "Owners and admins see what a larger plan costs." in page.locator(".answer").inner_text()
    assert "billing:write" in changes
    assert "USD" not in changes
