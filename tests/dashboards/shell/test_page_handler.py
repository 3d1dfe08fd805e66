"""The document of a page: what Panel would write, with scripts and styles that are looked for once."""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast

import httpx
import pytest
from panel.io.server import DocHandler

from attestlab_dashboards import page_handler, server
from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.server import DashboardApplication, build_application
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import BrowserSessions
from attestlab_dashboards.sign_in import COOKIE
from attestlab_dashboards.throttle import Throttle
from support import patient_http
from support.dashboards.browser_sessions import FACTS, QuietDoor
from support.dashboards.sockets import serve_here

CONFIGURATION = Configuration(api_socket="", own_socket="", public_url="", stage="demo", address_requests_per_minute=60)
NAMES = re.compile(r'"token":"[^"]+"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\bp\d+\b')
"""What differs between two documents of one page: the token, and the names of its elements and models."""


def open_pages(*paths: str) -> tuple[DashboardApplication, list[httpx.Response]]:
    """Ask a server for documents, one after another, as a signed-in person; returns also its application."""
    sessions = BrowserSessions()
    cookie = sessions.begin(cast(PersonalDoor, QuietDoor()), FACTS, address="")

    async def ask() -> tuple[DashboardApplication, list[httpx.Response]]:
        application = build_application(CONFIGURATION, sessions, Throttle(60))
        async with (
            serve_here(application) as url,
            patient_http.open_async_client(base_url=url, cookies={COOKIE: cookie}) as browser,
        ):
            return application, [await browser.get(f"/dash/{path}") for path in paths]

    return asyncio.run(ask())


def test_a_document_is_what_panel_would_write(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [page.path for page in PAGES]
    _, ours = open_pages(*paths)
    monkeypatch.setattr(server, "PageHandler", DocHandler)
    _, theirs = open_pages(*paths)

    assert [NAMES.sub("", each.text) for each in ours] == [NAMES.sub("", each.text) for each in theirs]
    assert {each.headers["Content-Type"] for each in ours} == {each.headers["Content-Type"] for each in theirs}
    assert {(each.status_code, each.headers["Cache-Control"]) for each in ours} == {(200, "no-store")}


def test_scripts_and_styles_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real, looked = page_handler.bundle_resources, []

    def bundle(*arguments: Any) -> Any:
        looked.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(page_handler, "bundle_resources", bundle)
    _, found = open_pages("risk", "log", "risk")

    assert len(looked) == 1
    assert len({each.text.count("<script") for each in found}) == 1


def test_what_a_client_calls_the_place_of_a_page_is_not_kept() -> None:
    places = [f"risk?bokeh-absolute-url=/{number}/dash/risk" for number in range(3)]
    application, found = open_pages(*places, "risk")

    assert len(application.settings["bundles"]) == 1
    assert [f'"/{number}/' in each.text for number, each in enumerate(found)] == [True, True, True, False]


def test_a_document_needs_a_session() -> None:
    sessions = BrowserSessions()

    async def ask() -> httpx.Response:
        async with (
            serve_here(build_application(CONFIGURATION, sessions, Throttle(60))) as url,
            patient_http.open_async_client(base_url=url) as browser,
        ):
            return await browser.get("/dash/risk")

    answer = asyncio.run(ask())
    assert (answer.status_code, "sign-in" in answer.headers["Location"]) == (302, True)
