"""States of a page in a real browser: errors, refusals, late answers, lost connections, and sessions that end."""

from __future__ import annotations

import csv
import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Page

from support.browser import needs_chromium, open_profile
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import LEAVER, MEMBER, DemoServer
from support.dashboards.windows import (
    READY,
    Windows,
    list_failed_panes,
    read_number,
    wait_for_redraw,
)

pytestmark = needs_chromium

UNKNOWN = "0193b5a0-7f3c-7abc-8def-0123456789ab"
# Keeps the page's websockets within reach of a test, which closes them as a broken network does.
KEEP_SOCKETS = """
const Plain = WebSocket; window.sockets = [];
window.WebSocket = class extends Plain { constructor(...given) { super(...given); window.sockets.push(this); } };
"""


def test_a_failed_pane_has_its_code_its_request_and_a_retry(windows: Windows) -> None:
    with windows.visit(f"/dash/issuers?issuer={UNKNOWN}") as page:
        mouse = Mouse(page)
        drawer = mouse.read_pane("issuer")
        mouse.press("Retry", "[data-pane=issuer]")
        again = mouse.read_pane("issuer")

    assert "This could not be read" in drawer
    assert "NOT_FOUND" in drawer
    assert "request" in drawer
    assert "Traceback" not in drawer
    assert "This could not be read" in again
    assert drawer != again  # the second try is another request


def test_answers_that_are_there_at_once_leave_no_page_busy(windows: Windows) -> None:
    """Once, the message that a page is drawn was lost when it met another write."""
    with windows.visit(f"/dash/issuers?issuer={UNKNOWN}") as page:
        for _ in range(12):
            Mouse(page).press("Retry", "[data-pane=issuer]")

        assert page.locator("#al-main").get_attribute("data-busy") == ""


def test_a_failed_pane_leaves_the_others(windows: Windows) -> None:
    with windows.visit("/dash/log?entry=99999999") as page:
        assert list_failed_panes(page) == ["This could not be read"]
        assert page.locator("[data-pane=entries] tr[data-row]").count() == 10


def test_a_pane_without_its_scope_says_which_and_who_grants_it(windows: Windows) -> None:
    with windows.visit("/dash/issuers", person=MEMBER) as page:
        trail = Mouse(page).read_pane("trail")

        assert list_failed_panes(page) == ["You may not see this"]
    assert "audit:read" in trail
    assert "the role member" in trail
    assert "Ask an owner" in trail


def test_parts_of_a_link_that_no_longer_exist_are_named(windows: Windows) -> None:
    with windows.visit("/dash/risk?window=7d&colour=red&min_score=high") as page:
        words = page.locator("#al-notices").inner_text()

        assert "2 of the link's filters no longer exist: colour, min_score." in words
        assert page.url.endswith("/dash/risk?window=7d")


def test_filters_without_a_result_say_so_and_offer_the_way_back(windows: Windows) -> None:
    with windows.visit("/dash/risk?source=nothing&type=nothing") as page:
        mouse = Mouse(page)
        assert "No signal matches" in mouse.read_pane("when")
        assert list_failed_panes(page) == []
        mouse.press("Reset all", "[data-pane=when]")
        assert page.url.endswith("/dash/risk")
        assert "No signal matches" not in mouse.read_pane("when")


def test_a_late_answer_to_an_old_filter_is_dropped(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        before = read_number(page)
        for name in ("90 days", "24 hours", "7 days"):  # each before the last one is answered
            page.get_by_role("button", name=name, exact=True).click()
        wait_for_redraw(page, before + 2)
        shown, address = Mouse(page).read_pane("kpis"), page.url
    with windows.visit("/dash/risk?window=7d") as page:
        expected = Mouse(page).read_pane("kpis")

    assert address.endswith("?window=7d")
    assert shown == expected


def test_a_lost_connection_comes_back_with_what_was_shown(windows: Windows) -> None:
    with open_with_sockets(windows, "/dash/risk?window=7d") as page:
        mouse = Mouse(page)
        shown = mouse.read_pane("kpis")
        with page.expect_navigation():
            page.evaluate("window.sockets.at(-1).close()")
            page.get_by_text("The connection is lost").wait_for()
        page.wait_for_selector(READY)

        assert page.url.endswith("/dash/risk?window=7d")
        assert mouse.read_pane("kpis") == shown
        mouse.press("24 hours")  # the window works as before
        assert mouse.read_pane("kpis") != shown


def test_a_lost_connection_leaves_what_was_typed(windows: Windows) -> None:
    with open_with_sockets(windows, "/dash/log") as page:
        page.fill("#lg-bundle", "half a bundle")
        page.evaluate("window.sockets.at(-1).close()")
        page.get_by_text("Copy what you wrote").wait_for()

        assert page.locator("#lg-bundle").input_value() == "half a bundle"


def open_with_sockets(windows: Windows, path: str) -> AbstractContextManager[Page]:
    """Open a page of a profile whose websockets a test can close."""
    return windows.visit(path, fresh=True, before=lambda page: page.add_init_script(KEEP_SOCKETS))


def test_a_killed_process_is_announced_and_the_page_comes_back(windows: Windows, demo: DemoServer) -> None:
    address = "/dash/issuers?tier=BASIC&sort=name"
    with windows.visit_unwatched(address) as page:
        rows = read_rows(page)
        with page.expect_navigation():
            os.kill(*demo.find_dashboards(), signal.SIGKILL)
            page.get_by_text("The connection is lost").wait_for()
        page.wait_for_selector(READY)

        assert page.url.endswith(address), "the person stays signed in"
        assert read_rows(page) == rows


def read_rows(page: Page) -> list[str]:
    """The issuers on the page."""
    return page.locator("[data-pane=issuers] tr[data-row] b").all_inner_texts()


def test_sign_out_closes_the_other_windows(windows: Windows) -> None:
    with open_profile(windows.browser) as profile:
        first, second = profile.new_page(), profile.new_page()
        first.goto(f"{windows.url}/dash/sign-in?next=/dash/log")
        first.click("button[name=person] >> nth=0")
        first.wait_for_selector(READY)
        second.goto(f"{windows.url}/dash/log")
        second.wait_for_selector(READY)
        first.click(".al-me summary")
        first.click("text=Sign out")
        first.wait_for_url("**/dash/sign-in*")
        second.wait_for_url("**/dash/sign-in*")


def test_who_is_removed_is_out_of_all_their_windows(windows: Windows, demo: DemoServer) -> None:
    """The first window that asks the service notices it; the other ones end with it, before the regular check."""
    with open_profile(windows.browser, storage_state=windows.sign_in(LEAVER)) as profile:
        idle, used = profile.new_page(), profile.new_page()
        for page, path in ((idle, "issuers"), (used, "risk")):
            page.goto(f"{windows.url}/dash/{path}")
            page.wait_for_selector(READY)
        with demo.connect() as lab:
            leaver = lab.as_(LEAVER, password=demo.made["people_password"]).me()
            lab._client.delete(f"/v1/users/{leaver.id}")
        used.get_by_role("button", name="24 hours", exact=True).click()
        used.wait_for_url("**/dash/sign-in?next=*")
        idle.wait_for_url("**/dash/sign-in?next=*")

        assert used.url.endswith("risk%3Fwindow%3D24h")


@pytest.mark.parametrize("kind", ["attestation.minted", pytest.param("", marks=pytest.mark.soak)])
def test_a_download_has_the_rows_of_the_api(windows: Windows, demo: DemoServer, tmp_path: Path, kind: str) -> None:
    """The log may grow while the page is open: the file has what was there before, and nothing that is not there."""
    with demo.connect() as lab:
        expected = {each.log_index for each in lab.log if not kind or each.type == kind}
    with windows.visit(f"/dash/log?type={kind}" if kind else "/dash/log") as page:
        page.locator("#tools-entries summary").click()
        with page.expect_download() as started:
            page.locator("#tools-entries a", has_text="CSV").click()
        started.value.save_as(tmp_path / "entries.csv")

    with (tmp_path / "entries.csv").open() as file:
        found = [int(row["log_index"]) for row in csv.DictReader(file)]
    with demo.connect() as lab:
        known = {each.log_index for each in lab.log if not kind or each.type == kind}
    assert len(expected) > 10
    assert len(found) == len({*found})
    assert expected <= {*found} <= known


def test_each_format_has_the_issuers_of_the_api(windows: Windows, demo: DemoServer, tmp_path: Path) -> None:
    import pandas as pd

    readers = {"CSV": pd.read_csv, "Parquet": pd.read_parquet, "JSON": pd.read_json}
    with demo.connect() as lab:
        expected = sorted((str(each.id), each.name) for each in lab.issuers.list() if each.trust_tier == "BASIC")
    with windows.visit("/dash/issuers?tier=BASIC") as page:
        page.locator("#tools-issuers summary").click()
        for label in readers:
            with page.expect_download() as started:
                page.locator("#tools-issuers a", has_text=label).click()
            started.value.save_as(tmp_path / label)

    for label, read in readers.items():
        frame = read(tmp_path / label)
        assert sorted(zip(frame["id"], frame["name"], strict=True)) == expected
