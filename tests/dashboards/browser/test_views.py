"""Saved views: what a person shows is kept by a name, found by others if it is shared, changed, and deleted."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from support.browser import needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import ADMIN, OWNER, DemoServer
from support.dashboards.windows import HAND, Windows, list_failed_panes, read_number, wait_for_redraw

pytestmark = needs_chromium

MENU = "[data-pane=views]"
DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboards.md"


@pytest.fixture(autouse=True)
def no_views(demo: DemoServer) -> None:
    """Begin without views of others' tests."""
    password = demo.made["people_password"]
    with demo.connect() as lab:
        for person in (OWNER, ADMIN):
            signed_in = lab.as_(person, password=password)
            for view in [*signed_in.views]:
                if str(view.owner_id) == str(signed_in.me().id):
                    view.remove()


def save(page: Page, name: str, *, is_shared: bool = False) -> None:
    """Save what the page shows."""
    page.click(f"{MENU} summary")
    page.fill(f"{MENU} form[data-act=save_view] input[name=name]", name)
    if is_shared:
        page.check(f"{MENU} form[data-act=save_view] input[name=shared]")
    Mouse(page).press("Save this view", MENU)


def test_a_view_is_saved_left_and_shown_again(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        mouse = Mouse(page)
        mouse.press("7 days")
        save(page, "A week of risk")
        name = page.locator(f"{MENU} .al-view-name")
        expect(name).to_have_text("A week of risk")

        mouse.press("90 days")
        expect(name).to_have_text("A week of risk changed")

        page.click(f"{MENU} summary")
        page.get_by_role("link", name="Show it again").click()
        expect(name).to_have_text("A week of risk")
        assert "window=7d" in urlsplit(page.url).query
        assert page.locator("[data-pane=chips] .chip[aria-pressed=true]").first.inner_text().startswith("7 days")
        assert list_failed_panes(page) == []


def test_a_view_shows_its_name_wherever_its_filters_are_set(windows: Windows) -> None:
    with windows.visit("/dash/risk?window=90d&source=login") as page:
        save(page, "Logins of a quarter")
    with windows.visit("/dash/risk?source=login&window=90d") as page:
        expect(page.locator(f"{MENU} .al-view-name")).to_have_text("Logins of a quarter")


def test_a_shared_view_is_found_by_a_colleague_who_cannot_change_it(windows: Windows) -> None:
    with windows.visit("/dash/issuers?status=ACTIVE") as page:
        save(page, "Active issuers", is_shared=True)
        save_again = page.locator(f"{MENU} form[data-act=save_view]")
        save_again.locator("input[name=name]").fill("Only mine")
        Mouse(page).press("Save this view", MENU)
    with windows.visit("/dash/issuers", person=ADMIN) as page:
        page.click(f"{MENU} summary")
        link = page.get_by_role("link", name="Active issuers")
        assert "by Ann" in page.locator(f"{MENU} li").first.inner_text()
        assert page.locator(f"{MENU} li").count() == 1
        assert page.locator(f"{MENU} [aria-label^=Edit]").count() == 0
        link.click()
        expect(page.locator(f"{MENU} .al-view-name")).to_have_text("Active issuers")
        assert "status=ACTIVE" in page.url


def test_the_owner_renames_replaces_and_deletes_a_view(windows: Windows) -> None:
    with windows.visit("/dash/usage?days=30") as page:
        mouse = Mouse(page)
        save(page, "A month")
        page.click(f"{MENU} [aria-label='Edit A month']")
        page.locator(f"{MENU} form[data-act=change_view] input[name=name]").fill("The month")
        mouse.press("Save the changes", MENU)
        expect(page.locator(f"{MENU} .al-view-name")).to_have_text("The month")

        mouse.press("A year")
        page.click(f"{MENU} summary")
        page.click(f"{MENU} form[data-act=keep_view] button")
        expect(page.locator(f"{MENU} .al-view-name")).to_have_text("The month")

        page.locator(f"{MENU} summary", has_text="Delete").click()
        mouse.press("Delete the view", MENU)
        expect(page.locator(f"{MENU} .al-view-name")).to_have_count(0)
        assert "days=365" in page.url
        assert "view=" not in page.url


def test_a_refused_name_says_why_and_changes_nothing(windows: Windows) -> None:
    with windows.visit("/dash/log") as page:
        save(page, "The log")
        page.fill(f"{MENU} form[data-act=save_view] input[name=name]", "The log")
        page.click(f"{MENU} form[data-act=save_view] button")
        expect(page.locator(".al-toast.bad")).to_contain_text("The log")
        assert page.locator(f"{MENU} li").count() == 1


def test_the_menu_is_usable_on_a_phone(windows: Windows) -> None:
    with windows.visit("/dash/agents", **HAND) as page:
        save(page, "W" * 100)
        menu = page.locator(f"{MENU} .al-views-menu").bounding_box()
        assert menu is not None
        assert menu["x"] >= 0
        assert menu["x"] + menu["width"] <= 390
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_view_is_saved_and_mailed_in_four_clicks(windows: Windows) -> None:
    with windows.visit("/dash/risk?window=7d") as page:
        mouse = Mouse(page)
        mouse.click("#views > summary", redraws=False)
        page.locator(f"{MENU} form[data-act=save_view] input[name=name]").fill("Week in four clicks")
        before = read_number(page)
        page.keyboard.press("Enter")
        wait_for_redraw(page, before)
        mouse.click(page.get_by_text("Edit", exact=True), redraws=False)
        mouse.click(page.get_by_text("Send by mail"), redraws=False)
        mouse.press("Send the report", MENU)
        expect(page.get_by_text("Sent every Monday at 07:00 UTC", exact=True)).to_be_visible()
        assert f"*Send the report* | {mouse.clicks} |" in DOCUMENT.read_text()
        mouse.press("Send no more", MENU)


def test_a_view_is_sent_by_mail_to_named_people_and_no_more(windows: Windows, demo: DemoServer) -> None:
    with windows.visit("/dash/risk?window=7d") as page:
        mouse = Mouse(page)
        save(page, "Risk of the week")
        page.get_by_text("Edit", exact=True).click()
        page.get_by_text("Send by mail").click()
        form = page.locator(f"{MENU} form[data-act=mail_view]")
        expect(form.locator("textarea")).to_have_value(OWNER)
        form.locator("textarea").fill(f"{OWNER}, stranger@demo.example")
        form.get_by_role("button", name="Send the report").click()
        expect(page.get_by_text("No active person of the tenant has the address stranger@demo.example")).to_be_visible()

        form.locator("textarea").fill(f"{OWNER}, {ADMIN}")
        mouse.press("Send the report", MENU)
        expect(page.get_by_text("Sent every Monday at 07:00 UTC", exact=True)).to_be_visible()
        expect(page.get_by_text("No report was sent yet.")).to_be_visible()
        with demo.connect() as lab:
            owner = lab.as_(OWNER, password=demo.made["people_password"])
            (view,) = (each for each in owner.views if each.name == "Risk of the week")
            assert view.schedule is not None
            assert {lab.people[str(each)].email for each in view.schedule.recipients} == {OWNER, ADMIN}

        mouse.press("Send no more", MENU)
        expect(page.get_by_text("Send by mail")).to_be_visible()
        assert list_failed_panes(page) == []
