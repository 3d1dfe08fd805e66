"""The page about access in a real browser: a badge for what waits, a key that is revoked, and the page on a phone."""

from __future__ import annotations

from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import OWNER, DemoServer
from support.dashboards.windows import HAND, Windows, has_sideways_scrolling, list_failed_panes

pytestmark = needs_chromium


def test_an_owner_revokes_a_key_and_sees_what_waits_for_them(windows: Windows, demo: DemoServer) -> None:
    with demo.connect() as lab:
        ann = lab.as_(OWNER, password=demo.made["people_password"])
        key = ann.api_keys.create("Forgotten script", scopes=["issuers:read"])
    with windows.visit("/dash/access") as page:
        mouse = Mouse(page)
        page.locator(".al-nav a[href=issuers] .al-badge").wait_for()  # Ben's request waits for Ann
        assert "for you" in mouse.read(".al-nav a[href=issuers] .al-badge")
        mouse.press("Forgotten script", "[data-pane=keys]")
        mouse.press("Revoke", "[data-pane=who]")
        page.fill("[data-pane=confirm] textarea", "no one runs it")
        mouse.press("Revoke it", "[data-pane=confirm]")
        page.locator("[data-pane=who] .pill.bad").wait_for()
        assert "You revoked the API key Forgotten script" in mouse.read_pane("who")
        assert list_failed_panes(page) == []
    with demo.connect() as lab:
        ann = lab.as_(OWNER, password=demo.made["people_password"])
        assert ann.api_keys[key.id].revocation_reason == "no one runs it"


def test_a_phone_shows_who_did_what(windows: Windows) -> None:
    with windows.visit("/dash/access", reduced_motion="reduce", **HAND) as page:
        assert list_failed_panes(page) == []
        assert not has_sideways_scrolling(page)
        assert list_violations(page, *SERIOUS) == []
