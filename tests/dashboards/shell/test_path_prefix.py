"""The dashboards below a path of a proxy: cookies, redirects, links and the websocket stay below it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from unittest.mock import patch

import httpx
import pytest

from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.sign_in import COOKIE
from support import patient_http
from support.dashboards.sockets import open_socket, token_of
from support.path_proxy import PathProxy, Rewriting, serve_below
from support.portal import ParsedPage
from support.server_process import ServerProcess

PAGE = PAGES[0].path
KINDS = ("header", "setting")


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[ServerProcess, str]]]:
    """One server behind two proxies: one names its path and keeps `Host`, the other is the portal's URL."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "data").mkdir()
    portal = PathProxy(Rewriting("/set", names_path=False, keeps_host=False))
    environment = {"ATTESTLAB_TRUSTED_PROXIES": "127.0.0.0/8", "ATTESTLAB_PORTAL_URL": portal.url}
    made = ServerProcess.initialised(folder / "data", f"sqlite:///{folder / 'records.db'}")
    with patch.dict(os.environ, environment), made.start() as server:
        portal.upstream = server.url.removeprefix("http://")
        with serve_below(server.url, "/lab/attest") as url:
            yield {"header": (server, url), "setting": (server, portal.url)}
        server.stop()
    portal.close()


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, proxies: dict[str, tuple[ServerProcess, str]]) -> tuple[ServerProcess, str]:
    """The server, and an address of it below a path."""
    return proxies[request.param]


@pytest.fixture
def browser() -> Iterator[httpx.Client]:
    with patient_http.open_client() as client:
        yield client


def send_form(browser: httpx.Client, server: ServerProcess, url: str, **changes: str) -> httpx.Response:
    """Sign in as the owner, through a proxy."""
    fields = {"email": server.made["owner_email"], "password": server.made["owner_password"]} | changes
    origin = re.match("http://[^/]+", url)
    assert origin is not None
    return browser.post(f"{url}/dash/sign-in", data=fields, headers={"Origin": origin[0]})


def test_a_person_signs_in_and_out_below_the_path(browser: httpx.Client, site: tuple[ServerProcess, str]) -> None:
    server, url = site
    path = httpx.URL(url).path
    asked = browser.get(f"{url}/dash/{PAGE}?a=b")
    form = browser.get(asked.url.join(asked.headers["Location"]))
    (target,) = [each["value"] for each in ParsedPage(form.text).all("input") if each.get("name") == "next"]
    signed_in = send_form(browser, server, url, next=str(target))
    page = browser.get(signed_in.url.join(signed_in.headers["Location"]))
    signed_out = browser.post(f"{url}/dash/sign-out", headers={"Origin": url.removesuffix(path)})

    assert (form.status_code, target) == (200, f"{path}/dash/{PAGE}?a=b")
    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, target)
    assert f"Path={path}/dash;" in signed_in.headers["Set-Cookie"]
    assert (page.status_code, PAGES[0].question in page.text) == (200, True)
    assert signed_out.headers["Location"] == f"{path}/dash/sign-in"
    assert COOKIE not in browser.cookies


def test_everything_that_a_page_loads_is_below_the_path(browser: httpx.Client, site: tuple[ServerProcess, str]) -> None:
    server, url = site
    send_form(browser, server, url)
    page = browser.get(f"{url}/dash/{PAGE}")
    parsed = ParsedPage(page.text)
    tags = (("link", "href"), ("script", "src"), ("a", "href"), ("form", "action"))
    links = {str(each[name]) for tag, name in tags for each in parsed.all(tag) if each.get(name)}
    loaded = {link for link in links if re.search(r"\.(?:css|js|svg)\b", link)}

    assert len(loaded) > 4
    assert {link for link in links if not str(page.url.join(link)).startswith(f"{url}/")} == set()
    assert {browser.get(page.url.join(link)).status_code for link in loaded} == {200}


def test_the_websocket_opens_with_the_cookie_of_the_path(
    browser: httpx.Client, site: tuple[ServerProcess, str]
) -> None:
    server, url = site
    send_form(browser, server, url)
    token = token_of(browser.get(f"{url}/dash/{PAGE}").text)
    origin = url.removesuffix(httpx.URL(url).path)

    assert open_socket(server.url, token, browser.cookies[COOKIE], origin=server.url) == 101
    assert open_socket(url, token, browser.cookies[COOKIE], origin=origin) == 101


@pytest.mark.parametrize("path", ["/dash", "/dash/", f"/dash/{PAGE}/"])
def test_short_and_long_addresses_lead_to_the_page(
    browser: httpx.Client, site: tuple[ServerProcess, str], path: str
) -> None:
    _, url = site

    assert browser.get(f"{url}{path}?a=b").headers["Location"] == f"{httpx.URL(url).path}/dash/{PAGE}?a=b"


@pytest.mark.parametrize("path", ["/dash", "/dash/", "/dash/sign-in", f"/dash/{PAGE}", f"/dash/{PAGE}/"])
def test_an_answer_that_depends_on_the_path_names_the_header(
    browser: httpx.Client, proxies: dict[str, tuple[ServerProcess, str]], path: str
) -> None:
    server, _ = proxies["header"]
    answers = [browser.get(f"{server.url}{path}", headers={"X-Forwarded-Prefix": each}) for each in ("/a", "/b")]

    assert len({(answer.headers.get("Location"), answer.text) for answer in answers}) == 2
    assert {"X-Forwarded-Prefix" in answer.headers.get("Vary", "") for answer in answers} == {True}


@pytest.mark.parametrize("wanted", ["/dash/log", "/lab/dash/log", "//evil.example/lab/attest/dash/log", "log"])
def test_sign_in_leads_nowhere_outside_of_the_path(
    browser: httpx.Client, proxies: dict[str, tuple[ServerProcess, str]], wanted: str
) -> None:
    server, url = proxies["header"]

    assert send_form(browser, server, url, next=wanted).headers["Location"] == f"/lab/attest/dash/{PAGE}"


@pytest.mark.parametrize("forwarded", ["//evil.example", "/a;Domain=evil.example", "/a/../b", "https://evil.example"])
def test_no_header_leads_to_another_host_or_into_a_cookie(
    browser: httpx.Client, proxies: dict[str, tuple[ServerProcess, str]], forwarded: str
) -> None:
    server, _ = proxies["header"]
    answer = browser.get(f"{server.url}/dash", headers={"X-Forwarded-Prefix": forwarded})

    assert answer.headers["Location"] == f"/set/dash/{PAGE}"
