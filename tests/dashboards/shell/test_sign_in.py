"""Sign-in to the dashboards, over HTTP against a real server: cookies, origins, headers, and how a session ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import pytest
from bokeh.util.token import get_token_payload

from attestlab.core.errors import Unavailable
from attestlab.server import dashboards
from attestlab.settings import Settings
from attestlab_dashboards.configuration import Configuration, DemoPerson
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.page_socket import PageSocket
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.server import build_application
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import BrowserSessions
from attestlab_dashboards.sign_in import COOKIE
from attestlab_dashboards.throttle import Throttle
from support import patient_http
from support.dashboards.browser_sessions import Door
from support.dashboards.demo_server import find_dashboards
from support.dashboards.sockets import open_socket, serve_here, sign_in, token_of
from support.processes import watch_process
from support.server_process import ServerProcess

START = f"/dash/{PAGES[0].path}"
MAX_ATTEMPTS = 500  # of a stranger, until the bucket of the address is empty
ADA = DemoPerson(name="Ada", role="owner", email="ada@demo.example", password="-")
DEMO = Configuration(
    api_socket="",
    own_socket="/nowhere",
    public_url="https://lab.example",
    stage="demo",
    address_requests_per_minute=600,
    people=(ADA,),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "data").mkdir()
    made = ServerProcess.initialised(folder / "data", f"sqlite:///{folder / 'records.db'}")
    with made.start() as started:
        yield started
        started.stop()


@pytest.fixture
def browser(server: ServerProcess) -> Iterator[httpx.Client]:
    """A browser that is not signed in; it does not follow redirects."""
    with patient_http.open_client(base_url=server.url) as client:
        yield client


def test_a_page_asks_for_sign_in_and_is_shown_afterwards(browser: httpx.Client, server: ServerProcess) -> None:
    asked = browser.get(f"{START}?a=b")
    form = browser.get(httpx.URL(server.url).join(START).join(asked.headers["location"]))
    signed_in = sign_in(browser, server, next=f"{START}?a=b")
    page = browser.get(signed_in.headers["location"])

    assert (asked.status_code, form.status_code) == (302, 200)
    assert f'name="next" value="{START}?a=b"' in form.text
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, f"{START}?a=b")
    assert page.status_code == 200
    assert PAGES[0].question in page.text


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(browser: httpx.Client, server: ServerProcess) -> None:
    signed_in = sign_in(browser, server)
    cookie = browser.cookies[COOKIE]
    page = browser.get(START)
    payload = get_token_payload(token_of(page.text))  # Bokeh compresses it, and scripts can read it

    flags = {part.strip().lower() for part in signed_in.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/dash"} <= flags
    assert cookie not in page.text
    assert "handle" in payload
    assert cookie not in str(payload)


@pytest.mark.parametrize(
    ("email", "password"),
    [("owner@operator.example", "wrong"), ("unknown@example.org", "wrong"), ("", ""), ("x" * 300, "y")],
)
def test_a_wrong_password_and_an_unknown_person_look_the_same(
    browser: httpx.Client, server: ServerProcess, email: str, password: str
) -> None:
    refused = sign_in(browser, server, email=email, password=password)

    assert refused.status_code in (400, 401)
    assert COOKIE not in browser.cookies
    assert 'role="alert"' in refused.text


@pytest.mark.parametrize("origin", [None, "null", "http://[", "https://evil.example", "http://127.0.0.1:1"])
def test_a_form_of_another_site_signs_no_one_in(
    browser: httpx.Client, server: ServerProcess, origin: str | None
) -> None:
    fields = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    refused = browser.post("/dash/sign-in", data=fields, headers={"Origin": origin} if origin else {})

    assert refused.status_code == 403
    assert COOKIE not in browser.cookies


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https://evil.example/dash/log", "/v1/me", "/dash/../a", "/dash/\\evil", "javascript:1"],
)
def test_sign_in_leads_nowhere_else(browser: httpx.Client, server: ServerProcess, wanted: str) -> None:
    assert sign_in(browser, server, next=wanted).headers["location"] == START


def test_every_response_has_the_security_headers(browser: httpx.Client, server: ServerProcess) -> None:
    sign_in(browser, server)
    styles = [f"/dash/{name}" for name in re.findall(r"assets/[a-z]+-[0-9a-f]{16}\.css", browser.get(START).text)]
    assert styles
    paths = ["/dash", START, "/dash/nowhere", "/dash/static/js/bokeh.min.js", f"{START}/export?pane=x&format=csv"]
    for path in [*paths, *styles]:
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, path
        assert "unsafe-eval" not in policy, path
        assert headers["x-content-type-options"] == "nosniff", path
        assert "server" not in headers, path


def test_head_is_answered_as_get_without_the_body(browser: httpx.Client, server: ServerProcess) -> None:
    before = [browser.head(path) for path in ("/dash/", "/dash/sign-in", "/dash/static/js/bokeh.min.js", START)]
    sign_in(browser, server)
    page = browser.head(START)

    assert [answer.status_code for answer in before] == [302, 200, 200, 302]
    assert page.status_code == 200
    assert {answer.content for answer in (*before, page)} == {b""}


def test_a_websocket_needs_the_session_that_opened_the_page(browser: httpx.Client, server: ServerProcess) -> None:
    sign_in(browser, server)
    token, cookie = token_of(browser.get(START).text), browser.cookies[COOKIE]
    with patient_http.open_client(base_url=server.url) as another:
        sign_in(another, server)
        foreign = another.cookies[COOKIE]

    assert open_socket(server.url, token, None) == 403
    assert open_socket(server.url, token, "made-up") == 403
    assert open_socket(server.url, token, foreign) == 403
    assert open_socket(server.url, token, cookie, origin="https://evil.example") == 403
    assert open_socket(server.url, token, cookie) == 101


def test_sign_out_ends_the_session_here_and_at_the_service(browser: httpx.Client, server: ServerProcess) -> None:
    sign_in(browser, server)
    cookie = browser.cookies[COOKIE]
    foreign = browser.post("/dash/sign-out", headers={"Origin": "https://evil.example"})
    still = browser.get(START).status_code
    done = browser.post("/dash/sign-out", headers={"Origin": server.url})
    after = browser.get(START, headers={"Cookie": f"{COOKIE}={cookie}"}).status_code

    assert (foreign.status_code, still) == (303, 200)
    assert (done.status_code, after) == (303, 302)
    with server.client() as client:
        ended = [
            line for line in client.get("/v1/audit/events?limit=20").json()["items"] if line["action"] == "session.end"
        ]
    assert ended


def test_downloads_need_a_session_and_name_what_is_unknown(browser: httpx.Client, server: ServerProcess) -> None:
    before = browser.get(f"{START}/export?pane=entries&format=csv")
    sign_in(browser, server)
    unknown = [
        browser.get(f"{START}/export{query}").status_code
        for query in ("", "?pane=x&format=csv", "?pane=entries&format=exe", "?pane=%00&format=csv")
    ]

    assert (before.status_code, before.headers["content-type"]) == (403, "text/plain; charset=utf-8")
    assert unknown == [404] * 4


def test_downloads_name_their_length_so_that_a_part_is_no_whole(browser: httpx.Client, server: ServerProcess) -> None:
    sign_in(browser, server)
    found = browser.get("/dash/log/export?pane=entries&format=csv", headers={"Accept-Encoding": "identity"})

    assert (found.status_code, found.headers["content-length"]) == (200, str(len(found.content)))


def test_a_download_with_a_filter_that_the_page_does_not_know_is_refused(
    browser: httpx.Client, server: ServerProcess
) -> None:
    """Its file would look filtered, and have all rows."""
    sign_in(browser, server)
    found = browser.get("/dash/log/export?pane=entries&format=csv&tipe=attestation.mint")

    assert found.status_code == 400
    assert "tipe" in found.text


def test_a_page_is_downloaded_as_one_file_that_names_its_filters(browser: httpx.Client, server: ServerProcess) -> None:
    before = browser.get("/dash/log/still")
    sign_in(browser, server)
    found = browser.get("/dash/log/still?type=attestation.minted")
    refused = browser.get("/dash/log/still?tipe=attestation.minted")

    assert (before.status_code, refused.status_code, browser.get("/dash/nowhere/still").status_code) == (403, 400, 404)
    assert re.fullmatch(r'attachment; filename="log-20\d\d-\d\d-\d\d.html"', found.headers["content-disposition"])
    assert found.text.startswith("<!doctype html>")
    assert "Did the log change, and is this attestation in it?" in found.text
    assert "/dash/log?type=attestation.minted" in found.text
    assert "<script" not in found.text


def test_public_pages_lead_to_the_dashboards(browser: httpx.Client) -> None:
    assert 'href="dash/"' in browser.get("/").text
    assert browser.get("/dash/").headers["location"] == START


@pytest.mark.parametrize("missing", ["attestlab_dashboards", "panel_material_ui", "param"])
def test_a_server_without_the_extra_has_no_dashboards(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    assert dashboards.are_installed()
    monkeypatch.setitem(sys.modules, missing, None)  # as if it were not installed
    assert not dashboards.are_installed()


def test_a_server_looks_for_the_packages_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger may connect thousands of times, and each look takes 5 ms of the event loop."""
    looks = []
    monkeypatch.setattr(dashboards, "list_missing_packages", lambda: looks.append(1) or ["panel"])
    served = dashboards.Dashboards(dashboards.DashboardFolder(tmp_path), Settings(data=tmp_path, database_url=None))

    for _ in range(3):
        with pytest.raises(Unavailable, match="panel"):
            asyncio.run(served.connect())

    assert len(looks) == 1


def test_requests_without_a_session_are_limited_by_address(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTESTLAB_ADDRESS_REQUESTS_PER_MINUTE", "60")  # a full bucket has ten tokens
        with made.start() as server, patient_http.open_client(base_url=server.url) as person:
            sign_in(person, server)
            with patient_http.open_client(base_url=server.url) as stranger:
                answers = (stranger.get("/dash/sign-in") for _ in range(MAX_ATTEMPTS))
                refused = next(answer for answer in answers if answer.status_code == 429)
            page = person.get(START)
            server.stop()

    assert refused.headers["retry-after"] == "1"
    assert "Try again in 1 s" in refused.text
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]
    assert page.status_code == 200


def test_pages_are_limited_by_session(browser: httpx.Client, server: ServerProcess) -> None:
    """A POST is refused as soon as the page is found, and so drains the bucket faster than it refills."""
    sign_in(browser, server)
    refused = next(answer for _ in range(MAX_ATTEMPTS) if (answer := browser.post(START)).status_code == 429)
    with patient_http.open_client(base_url=server.url) as another:
        sign_in(another, server)
        shown = another.get(START)

    assert "a session may open 60 a minute, a tenant 300" in refused.text
    assert browser.get("/dash/static/js/bokeh.min.js").status_code == 200
    assert shown.status_code == 200


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves a refused socket open
@pytest.mark.parametrize(
    ("host", "offered"),
    [("127.0.0.1:8000", True), ("localhost", True), ("lab.example", True), ("evil.example:8000", False)],
)
def test_one_click_signs_in_at_hosts_that_no_other_page_can_name(host: str, offered: bool) -> None:
    """A page whose name is bound to this server's address later could press the button for its visitor."""

    async def press() -> tuple[httpx.Response, httpx.Response]:
        headers = {"Host": host, "Origin": f"http://{host}"}
        async with serve_here(build_application(DEMO, BrowserSessions(), Throttle(600))) as url:
            url = f"{url}/dash/sign-in"
            form = await asyncio.to_thread(patient_http.get, url, headers=headers)
            return form, await asyncio.to_thread(patient_http.post, url, headers=headers, data={"person": ADA.email})

    form, pressed = asyncio.run(press())

    assert (ADA.email in form.text) is offered
    assert (f'maxlength="254" value="{ADA.email}"' in pressed.text) is offered  # tried, but there is no service here


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves a refused socket open
@pytest.mark.parametrize(("origin", "status"), [("https://lab.example", 400), ("https://evil.example", 403)])
def test_a_proxy_may_replace_the_host_of_the_portal(origin: str, status: int) -> None:
    """A form of the portal's pages is tried, which ends with 400 because there is no service here."""

    async def press() -> httpx.Response:
        headers = {"Host": "10.0.0.7:8000", "Origin": origin}
        async with serve_here(build_application(DEMO, BrowserSessions(), Throttle(600))) as url:
            form = {"person": ADA.email}
            return await asyncio.to_thread(patient_http.post, f"{url}/dash/sign-in", headers=headers, data=form)

    assert asyncio.run(press()).status_code == status


def test_a_sign_in_whose_facts_cannot_be_read_says_so_and_begins_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Door):
        def read_facts(self) -> Facts:
            raise Unavailable("The service took too long.")

    door, sessions = Failing(), BrowserSessions()
    monkeypatch.setattr(PersonalDoor, "sign_in", lambda *_args, **_options: door)

    async def press() -> httpx.Response:
        async with serve_here(build_application(DEMO, sessions, Throttle(600))) as url:
            form = {"email": ADA.email, "password": "-"}
            return await asyncio.to_thread(patient_http.post, f"{url}/dash/sign-in", headers={"Origin": url}, data=form)

    answer = asyncio.run(press())

    assert "so you are not signed in. The service took too long." in answer.text
    assert (COOKIE in answer.cookies, len(sessions), door.closed) == (False, 0, True)


@pytest.mark.parametrize(
    ("host", "origin", "is_ours"),
    [
        ("lab.example", "https://lab.example", True),
        ("10.0.0.7:8000", "https://lab.example", True),
        ("10.0.0.7:8000", "http://10.0.0.7:8000", True),
        ("10.0.0.7:8000", "https://evil.example", False),
        ("10.0.0.7:8000", "http://[", False),
        ("10.0.0.7:8000", "null", False),
    ],
)
def test_a_websocket_comes_from_a_page_of_ours_behind_a_proxy_too(host: str, origin: str, is_ours: bool) -> None:
    application = build_application(DEMO, BrowserSessions(), Throttle(600))
    asked = SimpleNamespace(request=SimpleNamespace(host=host), application=application)

    assert PageSocket.check_origin(cast(PageSocket, asked), origin) is is_ours


def test_a_killed_process_is_started_again(browser: httpx.Client, server: ServerProcess) -> None:
    assert browser.get("/dash/sign-in").status_code == 200  # it starts with the first request for it
    (pid,) = find_own(server)
    with watch_process(pid) as killed:
        os.kill(pid, signal.SIGKILL)

        answers = [browser.get("/dash/sign-in").status_code for _ in range(3)]  # a connection may have been under way
        assert answers[1:] == [200, 200]
        assert answers[0] in (200, 503)
        assert killed.has_ended()
    assert len(find_own(server)) == 1


def test_people_stay_signed_in_when_a_process_starts_again(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with patient_http.open_client() as signed_out, patient_http.open_client() as person:
        with made.start() as server:
            for each in (signed_out, person):
                each.base_url = server.url
                sign_in(each, server)
            left = signed_out.cookies[COOKIE]
            signed_out.post("/dash/sign-out", headers={"Origin": server.url})
            os.kill(*find_own(server), signal.SIGKILL)
            after_kill = read_status(person, START)
            server.stop()
        with made.start() as server:
            person.base_url = signed_out.base_url = server.url
            after_restart = read_status(person, START)
            still_out = signed_out.get(START, headers={"Cookie": f"{COOKIE}={left}"}).status_code
            public = person.get("/v1/me", headers={"Authorization": f"Bearer {person.cookies[COOKIE]}"})
            server.stop()

    assert (after_kill, after_restart, still_out) == (200, 200, 302)
    assert public.status_code == 401, "the cookie opens nothing at the service itself"


def read_status(client: httpx.Client, path: str) -> int:
    """The status of a page; the request that meets a process which has just ended is sent again."""
    answer = client.get(path)
    return (client.get(path) if answer.status_code == 503 else answer).status_code


def test_stopping_the_server_ends_the_dashboards(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}").start() as server:
        assert patient_http.get(f"{server.url}/dash/sign-in").status_code == 200
        (pid,) = find_own(server)
        with watch_process(pid) as dashboards:
            server.stop()

            assert dashboards.has_ended()


def test_without_dashboards_the_address_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTESTLAB_DASHBOARDS", "false")
        with made.start() as server:
            refused = patient_http.get(f"{server.url}/dash/")
            assert (refused.status_code, find_own(server)) == (503, [])
            assert "turned off" in refused.text
            assert "dash/" not in patient_http.get(server.url).text
            server.stop()


def find_own(server: ServerProcess) -> list[int]:
    assert server.process is not None
    return find_dashboards(server.process.pid)
