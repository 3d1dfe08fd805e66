"""A window that is closed leaves nothing in the memory of the process, which lives for as long as the server."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self, cast

from bokeh.application.handlers.document_lifecycle import DocumentLifecycleHandler
from bokeh.server.contexts import ApplicationContext
from bokeh.util.token import generate_jwt_token, generate_session_id
from panel.io.application import Application
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.ioloop import IOLoop

from attestlab_dashboards.pages import DashboardPage, Facts, Pane
from attestlab_dashboards.safe import html
from attestlab_dashboards.server import PageBuilder
from attestlab_dashboards.sessions import BrowserSession, BrowserSessions
from attestlab_dashboards.sign_in import COOKIE
from attestlab_dashboards.view import DashboardView
from support.timeouts import WAIT_TIMEOUT_S

FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset({"auditor"}), frozenset({"read"}))
TENANT = "01990000-0000-7000-8000-000000000001"
ME = SimpleNamespace(id="ann", tenant_id=TENANT, plan="FREE", roles=[], credential=SimpleNamespace(scopes=[]))
LAB = SimpleNamespace(views=SimpleNamespace(list=lambda page: []), me=lambda: ME)
DOOR = cast(Any, SimpleNamespace(lab=lambda: LAB, unattended_lab=lambda: LAB, close=lambda: None, refresh_token="rt_1"))


@dataclass(frozen=True)
class EmptyState:
    """A page without filters."""

    @classmethod
    def from_query(cls, _query: Mapping[str, str], /) -> tuple[Self, tuple[str, ...]]:
        return cls(), ()

    def to_query(self) -> dict[str, str]:
        return {}


PANE = Pane(key="answer", load=lambda _lab, _state: "seen", draw=lambda data, _: html("{data}", data=data), reads=())
PAGE = DashboardPage(path="log", name="Log", question="Is it there?", state=EmptyState, panes=(PANE,))


async def open_window(context: ApplicationContext, cookie: str, session: BrowserSession) -> DashboardView:
    """Open a window as a browser does, until its panes are drawn."""
    names = generate_session_id(signed=False)
    request = HTTPServerRequest(
        connection=cast(Any, SimpleNamespace(context=None, set_close_callback=lambda _: None)),
        start_line=RequestStartLine("GET", "/dash/log", "HTTP/1.1"),
        headers=HTTPHeaders({"Host": "x.example", "Cookie": f"{COOKIE}={cookie}"}),
    )
    payload = context.application.process_request(request)
    await context.create_session_if_needed(names, request, generate_jwt_token(names, extra_payload=payload))
    (view,) = (page for page in session.pages if isinstance(page, DashboardView))
    view.__panel__()._handle_msg({"hello": ""})
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        while view._conversation._tasks - {view._conversation._watching}:
            await asyncio.sleep(0)
    return view


async def discard(context: ApplicationContext) -> None:
    """Discard the windows, as Bokeh does 15 s after their websockets are closed, once their last messages are out."""
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        while list(context.sessions):
            await context._cleanup_sessions(-1)
            await asyncio.sleep(0)


async def open_and_close(count: int) -> tuple[list[weakref.ref[object]], BrowserSession]:
    """Open and close windows of one browser; returns weak references to what each of them was."""
    sessions = BrowserSessions()
    cookie = sessions.begin(DOOR, FACTS, address="127.0.0.1")
    session = sessions.find(cookie)
    assert session is not None
    application = Application(PageBuilder(PAGE, sessions), DocumentLifecycleHandler())  # as Bokeh's server adds it
    context = ApplicationContext(application, IOLoop.current(), url="/log")
    was: list[weakref.ref[object]] = []
    for _ in range(count):
        view = await open_window(context, cookie, session)
        (open_session,) = context.sessions
        ending = asyncio.gather(*view._conversation._tasks, return_exceptions=True)
        was += [weakref.ref(each) for each in (view, view.__panel__(), view._conversation, open_session.document)]
        del view, open_session
        await discard(context)
        await asyncio.wait_for(ending, WAIT_TIMEOUT_S)
        del ending
    return was, session


def test_a_closed_window_is_freed_while_its_browser_stays_signed_in() -> None:
    async def story() -> tuple[list[object], BrowserSession]:
        was, session = await open_and_close(3)
        gc.collect()
        return [each() for each in was], session

    left, session = asyncio.run(story())

    assert len(left) == 12
    assert [type(each).__name__ for each in left if each is not None] == []
    assert session.pages == set()
