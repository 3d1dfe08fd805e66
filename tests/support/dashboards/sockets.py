"""Dashboards that are served in this process or another: sign-in, and the handshake of a page's websocket."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from bokeh.server.server import BaseServer
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets

from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.server import DashboardApplication
from attestlab_dashboards.sign_in import COOKIE
from support.raw_http import RawConnection
from support.server_process import ServerProcess


@asynccontextmanager
async def serve_here(application: DashboardApplication) -> AsyncIterator[str]:
    """Serve the application on a free port of this process; yields its URL."""
    server = HTTPServer(application)
    (listening,) = bind_sockets(0, "127.0.0.1")
    server.add_socket(listening)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.stop()
        await server.close_all_connections()


async def open_document(application: DashboardApplication, *, owner: str, holder: str) -> str:
    """Open the first page's document for the session with the handle `owner`; its token says it is `holder`'s."""
    BaseServer(IOLoop.current(), application, HTTPServer(application))
    name = generate_session_id(application.secret_key, signed=True)
    of_owner, of_holder = (
        generate_jwt_token(name, application.secret_key, signed=True, extra_payload={"handle": handle})
        for handle in (owner, holder)
    )
    start = RequestStartLine("GET", f"/dash/{PAGES[0].path}", "HTTP/1.0")
    request = HTTPServerRequest(start_line=start, headers=HTTPHeaders())
    context = application.applications[f"/{PAGES[0].path}"]
    await context.create_session_if_needed(name, request, of_owner)
    return of_holder


def sign_in(browser: httpx.Client, server: ServerProcess, **changes: str) -> httpx.Response:
    """Send the form, as the owner unless the changes say otherwise."""
    fields = {"email": server.made["owner_email"], "password": server.made["owner_password"]} | changes
    return browser.post("/dash/sign-in", data=fields, headers={"Origin": server.url})


def token_of(page: str) -> str:
    """The token of a page's session, which its scripts send when they open the websocket."""
    found = re.search(r'"token":"([^"]+)"', page)
    assert found is not None
    return found[1]


def request_socket(url: str, token: str, cookie: str | None, origin: str | None = None) -> RawConnection:
    """Ask for the websocket of the first page; the answer's status is 101 if it is open."""
    host, slash, path = url.removeprefix("http://").partition("/")
    headers = [
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Sec-WebSocket-Protocol: bokeh, {token}",
        f"Origin: {origin or url}",
        *([f"Cookie: {COOKIE}={cookie}"] if cookie else []),
    ]
    request = "\r\n".join([f"GET {slash}{path}/dash/{PAGES[0].path}/ws HTTP/1.1", *headers, "", ""])
    return RawConnection(int(host.partition(":")[2])).send(request.encode())


def open_socket(url: str, token: str, cookie: str | None, origin: str | None = None) -> int:
    """Ask for the websocket of the first page, and close it; the status of the answer."""
    with request_socket(url, token, cookie, origin) as connection:
        return connection.response().status
