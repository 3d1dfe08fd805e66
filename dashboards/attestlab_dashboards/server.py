"""The web server of the dashboards: Panel's documents behind our sign-in, on a private Unix socket."""

from __future__ import annotations

import asyncio
import gc
import sys
from functools import partial
from importlib import import_module
from typing import Any, Final, cast
from urllib.parse import urlencode, urlsplit

from bokeh.application.handlers.handler import Handler
from bokeh.document import Document
from bokeh.server import urls
from bokeh.server.auth_provider import AuthProvider
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import get_token_payload
from panel.io.application import Application
from panel.io.server import WSHandler
from panel.io.state import set_curdoc
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.netutil import bind_unix_socket
from tornado.web import GZipContentEncoding, OutputTransform, RedirectHandler, RequestHandler, StaticFileHandler

from attestlab.web import logging_setup
from attestlab_dashboards import assets, downloads, shell, sign_in
from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.document import ShellPage
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPage
from attestlab_dashboards.sessions import MAX_SOCKETS, BrowserSession, BrowserSessions
from attestlab_dashboards.sign_in import COOKIE
from attestlab_dashboards.throttle import Throttle, TooManyRequests
from attestlab_dashboards.view import DashboardView, title_of

MAX_MESSAGE_BYTES: Final = 2 * 1024 * 1024
_CLOSE_AFTER_S: Final = 0.5  # a page whose session ended first gets the address to continue at
_SESSION_ENDED: Final = 4001  # a close code for applications (RFC 6455, section 7.4.2)
HEADERS: Final = {
    # Bokeh starts its documents with inline scripts, and loads components from blobs. No `unsafe-eval`: nothing here
    # makes code from text.
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' blob:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send "Origin: null" with our own forms
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class SecurityHeaders(OutputTransform):
    """Adds the security headers to every response: pages, files, redirects and errors; none names its software."""

    def __init__(self, request: HTTPServerRequest) -> None:
        pass

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the headers, and remove Tornado's name and version, as the API sends none."""
        headers.pop("Server", None)
        for name, value in HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk


class SignedIn(AuthProvider):
    """Tells Bokeh who is signed in: the browser session of a request's cookie."""

    def __init__(self, sessions: BrowserSessions) -> None:
        self._sessions = sessions
        super().__init__()

    @property
    def get_user(self) -> Any:
        """A function that returns the handle of the session, or None."""

        def handle_of(request_handler: RequestHandler) -> str | None:
            session = self._sessions.find(request_handler.get_cookie(COOKIE))
            return None if session is None else session.handle

        return handle_of

    @property
    def get_login_url(self) -> Any:
        """A function that returns the address of the form, relative to a page, with the page to return to.

        Panel writes a dot in front of it.
        """
        return lambda request_handler: f"/sign-in?{urlencode({'next': request_handler.request.uri})}"


class PageSocket(WSHandler):
    """The websocket of a page: of the browser session that opened the page, from our own pages alone."""

    _session: BrowserSession | None = None

    def check_origin(self, origin: str) -> bool:
        """Whether the script that connects comes from this host."""
        return bool(urlsplit(origin).netloc.lower() == self.request.host.lower())

    async def prepare(self) -> None:
        """Reject a websocket without a session, or with the page of another one."""
        await super().prepare()
        if self.current_user is None:  # it is rejected already
            return
        session = cast(BrowserSessions, self.application.settings["sessions"]).get(self.current_user)
        if session is None or session.handle != self._handle_of_page() or len(session.pages) >= MAX_SOCKETS:
            self.set_status(403)
            self.finish()
            return
        self._session = session
        session.pages.add(self)

    def end(self) -> None:
        """Close the websocket, after the message that the session has ended."""
        IOLoop.current().call_later(_CLOSE_AFTER_S, partial(self.close, _SESSION_ENDED, "The session has ended."))

    def on_close(self) -> None:
        """Forget the websocket."""
        if self._session is not None:
            self._session.pages.discard(self)
        super().on_close()

    def _handle_of_page(self) -> object:
        protocols = self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        try:
            return get_token_payload(protocols[1].strip()).get("handle")
        except (IndexError, ValueError):
            return None


class PageBuilder(Handler):
    """Builds the document of a page for the browser session that asked for it."""

    def __init__(self, page: AnyPage, sessions: BrowserSessions) -> None:
        super().__init__()
        self._page = page
        self._sessions = sessions

    def process_request(self, request: HTTPServerRequest) -> dict[str, Any]:
        """Note whose page it is. The note is readable in the page, so it is a handle that opens nothing by itself."""
        session = self._sessions.find(_cookie_of(request))
        return {} if session is None else {"handle": session.handle}

    def modify_document(self, doc: Document) -> None:
        """Fill the document."""
        context = cast(Any, doc.session_context)
        session = self._sessions.get(str(context.token_payload.get("handle")))
        if session is None:
            return
        doc.config.update(reconnect_session=False, notify_connection_status=False)  # bridge.js does both
        with set_curdoc(doc):
            view = DashboardView(self._page, session, on_ended=partial(self._sessions.end, session))
            session.pages.add(view)
            doc.on_session_destroyed(lambda _context: _close(session, view))
            drawn = shell.draw_shell(self._page, PAGES, session.facts)
            ShellPage(drawn, view.__panel__(), title=title_of(self._page)).server_doc(doc, location=False)


def _close(session: BrowserSession, view: DashboardView) -> None:
    session.pages.discard(view)
    view.close()


class AssetHandler(StaticFileHandler):
    """The style sheets and scripts of the pages, to be cached for a year: their names change with their content."""

    def parse_url_path(self, url_path: str) -> str:
        """Find the file of a served name; an unknown name is one that does not exist."""
        found = assets.list_served().get(url_path)
        return "unknown" if found is None else found.name

    def get_content_type(self) -> str:
        """Return the media type, with its character set."""
        suffix = "." + str(self.absolute_path).rpartition(".")[2]
        return assets.MEDIA_TYPES.get(suffix, "application/octet-stream")

    def set_extra_headers(self, path: str) -> None:
        """Allow caching."""
        self.set_header("Cache-Control", "public, max-age=31536000, immutable")


class DashboardApplication(BokehTornado):
    """The web application. A request without a session is served only while its address has a token left."""

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Find the handler of a request; that of Tornado finds it by the path."""
        if cast(BrowserSessions, self.settings["sessions"]).find(_cookie_of(request)) is None:
            wait_s = cast(Throttle, self.settings["throttle"]).take(request.remote_ip or "")
            if wait_s:
                return self.get_handler_delegate(request, TooManyRequests, {"wait_s": wait_s})
        return super().find_handler(request, **kwargs)


def build_application(
    configuration: Configuration, sessions: BrowserSessions, throttle: Throttle
) -> DashboardApplication:
    """Build the web application: the pages, sign-in, files and downloads."""
    shared = {"configuration": configuration, "sessions": sessions}
    _use_own_socket()
    return DashboardApplication(
        {f"/{page.path}": Application(PageBuilder(page, sessions)) for page in PAGES},
        prefix=shell.PREFIX,
        extra_patterns=[
            (r"/?", RedirectHandler, {"url": sign_in.START, "permanent": False}),
            (r"/sign-in", sign_in.SignInHandler, shared),
            (r"/sign-out", sign_in.SignOutHandler, shared),
            (r"/assets/(.+)", AssetHandler, {"path": str(assets.FOLDER)}),
            (r"/([a-z]+)/export", downloads.ExportHandler, shared),
        ],
        auth_provider=SignedIn(sessions),
        include_cookies=[],  # the token of a page is readable by its scripts: the cookie must not be in it
        include_headers=[],
        use_index=False,
        websocket_max_message_size_bytes=MAX_MESSAGE_BYTES,
        transforms=[SecurityHeaders, GZipContentEncoding],
        log_function=lambda handler: None,
        sessions=sessions,
        throttle=throttle,
    )


async def serve(configuration: Configuration) -> None:
    """Serve until standard input ends, which happens when the server that started this process is gone."""
    sessions = BrowserSessions()
    throttle = Throttle(configuration.address_requests_per_minute)
    application = build_application(configuration, sessions, throttle)
    http = HTTPServer(application, xheaders=True, max_body_size=64 * 1024)
    server = BaseServer(IOLoop.current(), application, http)
    server.start()
    http.add_socket(bind_unix_socket(configuration.own_socket, mode=0o600, backlog=128))
    asyncio.get_running_loop().run_in_executor(None, _load_libraries)
    checking = asyncio.ensure_future(sessions.check_forever(throttle.forget_full_buckets))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    checking.cancel()
    server.stop(wait=False)


def run() -> None:
    """Read the configuration from standard input, and serve."""
    logging_setup.capture_library_logs()
    configuration = Configuration.from_json(sys.stdin.readline())
    asyncio.run(serve(configuration))


def _load_libraries() -> None:
    """Load what the first page needs, while its person signs in; what is loaded then stays.

    The collector of garbage, which frees closed windows, leaves it out: otherwise it would stop all windows for a
    fraction of a second, and run so rarely that many windows wait for it.
    """
    for name in ("pyarrow.ipc", "pyarrow.parquet"):
        import_module(name)
    gc.freeze()


def _use_own_socket() -> None:
    """Replace Bokeh's websocket handler, as Panel does: its list of handlers is public."""
    for place, pattern in enumerate(urls.per_app_patterns):
        if issubclass(pattern[1], WSHandler):
            urls.per_app_patterns[place] = (pattern[0], PageSocket)


def _cookie_of(request: Any) -> str | None:
    found = request.cookies.get(COOKIE)
    return None if found is None else str(getattr(found, "value", found))
