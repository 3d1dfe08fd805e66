"""A walk in a real browser below a path of a proxy: nothing on the way asks for an address outside of the path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from playwright.sync_api import Browser, Page

from support.browser import needs_chromium
from support.dashboards.demo_server import DemoServer, serve_demo
from support.dashboards.windows import READY, Windows, list_failed_panes
from support.path_proxy import PathProxy, Rewriting

SITES = {
    "the proxy names its path": Rewriting("/lab/attest"),
    "the proxy is at the root": Rewriting(""),
    "the portal's URL has the path, and Host is replaced": Rewriting("/set", names_path=False, keeps_host=False),
}
CLAIMS = {"student_name": "Ada Lovelace", "institution": "University of London"}

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DemoServer, dict[str, PathProxy]]]:
    """A served demo, and the proxies in front of it; the last one is the address of its portal."""
    made = {name: PathProxy(rewriting) for name, rewriting in SITES.items()}
    *_, portal = made.values()
    environment = {"ATTESTLAB_TRUSTED_PROXIES": "127.0.0.0/8", "ATTESTLAB_PORTAL_URL": portal.url}
    with patch.dict(os.environ, environment), serve_demo(tmp_path_factory.mktemp("demo")) as server:
        for proxy in made.values():
            proxy.upstream = server.url.removeprefix("http://")
        yield server, made
        for proxy in made.values():
            proxy.close()


@pytest.mark.parametrize("site", SITES)
def test_a_person_walks_through_all_of_it_below_the_path(
    proxies: tuple[DemoServer, dict[str, PathProxy]], browser: Browser, tmp_path: Path, site: str
) -> None:
    server, made = proxies
    url = made[site].url
    windows = Windows(browser, replace(server, url=url))
    with server.connect() as lab:
        shared = lab.mint(issuer=lab.issuers[0], schema="degree", claims=CLAIMS).share_url
    try:
        with windows.visit("/dash/risk", fresh=True) as page:
            assert list_failed_panes(page) == []
            _look_at_the_log(page)
            _verify(page, f"{url}/a/{shared.partition('/a/')[2]}", tmp_path)
            page.goto(f"{url}/dash/log")
            page.wait_for_selector(READY)
            _sign_out(page, url)
    finally:
        windows.close()


def _look_at_the_log(page: Page) -> None:
    """Follow the navigation to another page, whose websocket opens too."""
    page.click(".al-nav a[href=log]")
    page.wait_for_url("**/dash/log*")
    page.wait_for_selector(READY)


def _verify(page: Page, address: str, folder: Path) -> None:
    """Open the public page of an attestation, and download its proof."""
    page.goto(address)
    assert page.locator("h1").count() == 1
    with page.expect_download() as download:
        page.click("a[download]")
    download.value.save_as(folder / "bundle.json")
    assert (folder / "bundle.json").stat().st_size > 1000


def _sign_out(page: Page, url: str) -> None:
    page.click(".al-me summary")
    page.click(".al-me button")
    page.wait_for_url(f"{url}/dash/sign-in**")  # a page whose session ends goes there by itself, too, with `next`
    page.goto(f"{url}/dash/risk")
    assert page.url.startswith(f"{url}/dash/sign-in?next=")
