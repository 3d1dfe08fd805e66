"""No request names the session of a page: every route of the dashboards refuses it, and so does every websocket."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from contextlib import ExitStack
from typing import cast

import httpx
import pytest
from bokeh.util.token import generate_jwt_token, get_session_id, get_token_payload

from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.server import build_application, list_patterns
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import MAX_SOCKETS, BrowserSessions
from attestlab_dashboards.sign_in import COOKIE, read_target
from attestlab_dashboards.throttle import Throttle
from support import patient_http
from support.dashboards.browser_sessions import FACTS, Door
from support.dashboards.sockets import open_document, open_socket, request_socket, serve_here, sign_in, token_of
from support.server_process import ServerProcess

START = f"/dash/{PAGES[0].path}"
NAMED = "named-by-an-attacker"
CONFIGURATION = Configuration(api_socket="", own_socket="", public_url="", stage="demo", address_requests_per_minute=60)
PATHS = {  # a path for every pattern that the dashboards serve, and one for no pattern
    "/dash/?": "/dash/",
    "/dash/sign-in": "/dash/sign-in",
    "/dash/sign-out": "/dash/sign-out",
    "/dash/assets/(.+)": "/dash/assets/shell.css",
    "/dash/([a-z]+)/export": f"{START}/export",
    "/dash/([a-z]+)/still": f"{START}/still",
    "/dash/static/extensions/(.*)": "/dash/static/extensions/panel/panel.min.js",
    "/dash/static/(.*)": "/dash/static/js/bokeh.min.js",
    f"/dash/({'|'.join(page.path for page in PAGES)})/": f"{START}/",
    **{f"/dash/{page.path}": f"/dash/{page.path}" for page in PAGES},
    **{f"/dash/{page.path}/ws": f"/dash/{page.path}/ws" for page in PAGES},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "data").mkdir()
    made = ServerProcess.initialised(folder / "data", f"sqlite:///{folder / 'records.db'}")
    with made.start() as started:
        yield started
        started.stop()


@pytest.fixture
def person(server: ServerProcess) -> Iterator[httpx.Client]:
    """The browser of a person who is signed in."""
    with patient_http.open_client(base_url=server.url) as client:
        sign_in(client, server)
        yield client


def test_pages_their_websockets_and_static_files_are_all_that_is_served() -> None:
    configuration = Configuration(
        api_socket="", own_socket="", public_url="", stage="demo", address_requests_per_minute=60
    )
    application = build_application(configuration, BrowserSessions(), Throttle(60))

    assert sorted(pattern.rstrip("$") for pattern in list_patterns(application)) == sorted(PATHS)


@pytest.mark.parametrize("path", [*PATHS.values(), "/dash/nowhere", f"{START}/autoload.js", f"{START}/metadata"])
def test_no_route_takes_the_name_of_a_session(person: httpx.Client, path: str) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answers = [
        person.get(path, params={"bokeh-session-id": NAMED}),
        person.get(path, params={"Bokeh-Token": "W10"}),
        person.get(path, headers={"Bokeh-Session-Id": NAMED}),
        person.get(f"{path}?%62okeh-session-id={NAMED}"),
        person.request("GET", path, content=f"bokeh-session-id={NAMED}", headers=form),
        person.post(path, data={"bokeh-token": "W10"}),
    ]

    assert [(answer.status_code, "named by the server alone" in answer.text) for answer in answers] == [(400, True)] * 6


@pytest.mark.parametrize("path", [*PATHS.values(), "/dash/nowhere"])
def test_a_path_with_a_control_character_is_refused(person: httpx.Client, path: str) -> None:
    assert [person.get(f"{path}/{junk}").status_code for junk in ("%00", "a%0Ab", "%7F")] == [400] * 3


def test_sign_in_forgets_the_name_of_a_session() -> None:
    assert read_target(f"{START}?bokeh-session-id={NAMED}&query=a", "/dash") == f"{START}?query=a"
    assert read_target(f"{START}?%62okeh-token={NAMED}", "/dash") == START


@pytest.mark.parametrize("wanted", ["/dash/%2e%2e/v1/me", "/dash/.%2E/", "/dash/a/%2e/b", "/dash/%5cevil", "/dash/%0a"])
def test_no_spelling_leaves_the_dashboards(wanted: str) -> None:
    assert read_target(wanted, "/dash") == START


def test_a_token_made_by_hand_joins_no_page(person: httpx.Client, server: ServerProcess) -> None:
    """What an attacker did who knew the name of a page's session, with the person's own cookie even."""
    true = token_of(person.get(START).text)
    name, handle = get_session_id(true), get_token_payload(true)["handle"]
    made = [
        generate_jwt_token(name, signed=False, extra_payload={"handle": handle}),
        generate_jwt_token(name, secret_key=b"guessed", signed=True, extra_payload={"handle": handle}),
        f"{true.partition('.')[0]}.{'A' * 43}",
    ]

    assert [open_socket(server.url, token, person.cookies[COOKIE]) for token in made] == [403] * 3


def test_a_page_of_one_person_is_not_joined_by_another(person: httpx.Client, server: ServerProcess) -> None:
    """Neither with the page's true token, nor with the person's cookie and the other's token."""
    with patient_http.open_client(base_url=server.url) as attacker:
        sign_in(attacker, server)
        tokens = [token_of(each.get(START).text) for each in (person, attacker)]
        cookies = [each.cookies[COOKIE] for each in (person, attacker)]

    assert [open_socket(server.url, token, cookie) for token in tokens for cookie in cookies] == [101, 403, 403, 101]


def test_a_signed_token_of_ones_own_does_not_open_the_document_of_another() -> None:
    """A signature shows that the server made a token; whose document it names is asked of the document."""
    sessions = BrowserSessions()
    cookie = sessions.begin(cast(PersonalDoor, Door()), FACTS, address="")
    attacker = sessions.find(cookie)
    assert attacker is not None

    async def ask(owner: str) -> int:
        application = build_application(CONFIGURATION, sessions, Throttle(60))
        token = await open_document(application, owner=owner, holder=attacker.handle)
        async with serve_here(application) as url:
            return await asyncio.to_thread(open_socket, url, token, cookie)

    assert asyncio.run(ask("another")) == 403


@pytest.mark.parametrize(
    "junk",
    ["W10", "W10.x", "", ".", "a.b.c", "e30.x", "bnVsbA.x", base64.urlsafe_b64encode(b"[" * 6000).decode() + ".x"],
)
def test_a_junk_token_is_refused(person: httpx.Client, server: ServerProcess, junk: str) -> None:
    assert open_socket(server.url, junk, person.cookies[COOKIE]) == 403


def test_refused_websockets_leave_room_for_others(person: httpx.Client, server: ServerProcess) -> None:
    """A handshake that fails after the check of its page counted as open until the server ended."""
    token, cookie = token_of(person.get(START).text), person.cookies[COOKIE]
    for _ in range(MAX_SOCKETS + 1):
        assert open_socket(server.url, token, cookie, origin="https://evil.example") == 403
    assert open_socket(server.url, token, cookie) == 101


def test_a_session_may_have_as_many_pages_as_promised(server: ServerProcess) -> None:
    """The limit counts open websockets; each page also has a view, which does not count."""
    with patient_http.open_client(base_url=server.url) as client:
        sign_in(client, server)
        token, cookie = token_of(client.get(START).text), client.cookies[COOKIE]
        with ExitStack() as opened:  # one after the other: of requests in flight at once, any may be the last
            statuses = [
                opened.enter_context(request_socket(server.url, token, cookie)).response().status
                for _ in range(MAX_SOCKETS + 1)
            ]

    assert statuses == [101] * MAX_SOCKETS + [403]
