"""The web server of the dashboards: Panel's documents behind our sign-in, on a private Unix socket."""

from __future__ import annotations

import asyncio
import gc
import secrets
import sys
from functools import partial
from importlib import import_module
from typing import Any, Final, cast
from urllib.parse import urlencode

from bokeh.application.handlers.handler import Handler
from bokeh.document import Document
from bokeh.server import urls
from bokeh.server.auth_provider import AuthProvider
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from panel.io.application import Application
from panel.io.state import set_curdoc
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.netutil import bind_unix_socket
from tornado.routing import PathMatches, Rule
from tornado.web import (
    GZipContentEncoding,
    OutputTransform,
    RequestHandler,
    StaticFileHandler,
    _HandlerDelegate,
)

from attestlab.web import logging_setup
from attestlab_dashboards import assets, downloads, shell, sign_in
from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.conversation import title_of
from attestlab_dashboards.cookies import CookieSeal
from attestlab_dashboards.document import ShellPage
from attestlab_dashboards.guarded_handlers import guard
from attestlab_dashboards.page_handler import PageHandler
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.page_socket import PageSocket
from attestlab_dashboards.pages import AnyPage
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import BrowserSession, BrowserSessions
from attestlab_dashboards.sign_in import COOKIE
from attestlab_dashboards.throttle import PAGES_PER_MINUTE, TENANT_PAGES_PER_MINUTE, Throttle, TooManyRequests
from attestlab_dashboards.together.parts import make_shared_parts
from attestlab_dashboards.view import DashboardView

MAX_MESSAGE_BYTES: Final = 2 * 1024 * 1024
_PING_S: Final = 60  # a websocket that answers no ping for as long again ends
_KEY_BYTES: Final = 32
_PAGE_PATHS: Final = {f"{shell.PREFIX}/{page.path}" for page in PAGES}
_TOO_MANY_REQUESTS: Final = "Too many requests without a sign-in came from your address."
_TOO_MANY_PAGES: Final = (
    f"Too many pages were opened: a session may open {PAGES_PER_MINUTE} a minute, a tenant {TENANT_PAGES_PER_MINUTE}."
)
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
        return lambda request_handler: f"/{sign_in.SIGN_IN}?{urlencode({'next': _address_of(request_handler.request)})}"


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
            end = partial(self._sessions.end, session, is_final=True)
            view = DashboardView(self._page, session, end, PAGES, make_shared_parts(self._page))
            session.views.add(view)
            doc.on_session_destroyed(lambda _context: _close(session, view))
            drawn = shell.draw_shell(self._page, PAGES, session.facts)
            ShellPage(drawn, view.__panel__(), title=title_of(self._page)).server_doc(doc, location=False)


def _close(session: BrowserSession, view: DashboardView) -> None:
    session.views.discard(view)
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
    """The web application. A request is served only while its address, or its session and tenant, have a token left."""

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """Find the handler of a request; that of Tornado finds it by the path."""
        throttle = cast(Throttle, self.settings["throttle"])
        session = cast(BrowserSessions, self.settings["sessions"]).find(_cookie_of(request))
        if session is None:
            what, wait_s = _TOO_MANY_REQUESTS, throttle.take(request.remote_ip or "")
        else:
            what, wait_s = _TOO_MANY_PAGES, throttle.take_page(session) if request.path in _PAGE_PATHS else 0
        if wait_s:
            return self.get_handler_delegate(request, TooManyRequests, {"what": what, "wait_s": wait_s})
        return super().find_handler(request, **kwargs)

    def get_handler_delegate(
        self,
        request: HTTPServerRequest,
        target_class: type[RequestHandler],
        target_kwargs: dict[str, object] | None = None,
        path_args: list[bytes] | None = None,
        path_kwargs: dict[str, bytes] | None = None,
    ) -> _HandlerDelegate:
        """Put the guard in front of every handler: ours, those of Panel and Bokeh, and those of errors."""
        return super().get_handler_delegate(request, guard(target_class), target_kwargs, path_args, path_kwargs)


def build_application(
    configuration: Configuration, sessions: BrowserSessions, throttle: Throttle
) -> DashboardApplication:
    """Build the web application: the pages, sign-in, files and downloads."""
    shared = {"configuration": configuration, "sessions": sessions}
    _keep_used_routes()
    application = DashboardApplication(
        {f"/{page.path}": Application(PageBuilder(page, sessions)) for page in PAGES},
        prefix=shell.PREFIX,
        extra_patterns=[
            (r"/?", sign_in.PageRedirect, shared),
            (rf"/({'|'.join(page.path for page in PAGES)})/", sign_in.PageRedirect, shared),
            (r"/sign-in", sign_in.SignInHandler, shared),
            (r"/sign-out", sign_in.SignOutHandler, shared),
            (r"/assets/(.+)", AssetHandler, {"path": str(assets.FOLDER)}),
            (r"/([a-z]+)/export", downloads.ExportHandler, shared),
            (r"/([a-z]+)/still", downloads.StillHandler, shared),
        ],
        auth_provider=SignedIn(sessions),
        include_cookies=[],  # the token of a page is readable by its scripts: the cookie must not be in it
        include_headers=[],
        use_index=False,
        sign_sessions=True,
        secret_key=secrets.token_bytes(_KEY_BYTES),  # of this process: no other token opens a page
        websocket_max_message_size_bytes=MAX_MESSAGE_BYTES,
        websocket_ping_interval=_PING_S,
        websocket_ping_timeout=_PING_S,
        transforms=[SecurityHeaders, GZipContentEncoding],
        log_function=lambda handler: None,
        sessions=sessions,
        throttle=throttle,
        bundles={},  # of scripts and styles (`PageHandler`)
        public_url=configuration.public_url,
    )
    router = application.wildcard_router
    router.rules = [rule for rule in router.rules if not _is_unused(_pattern_of(rule))]
    return application


async def serve(configuration: Configuration) -> None:
    """Serve until standard input ends, which happens when the server that started this process is gone."""
    sessions = BrowserSessions(
        seal=CookieSeal(bytes.fromhex(configuration.cookie_key)),
        open_door=partial(PersonalDoor.reopen, configuration),
    )
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
    try:
        asyncio.run(serve(configuration))
    finally:
        gc.unfreeze()  # so that the interpreter frees all when it ends


def _load_libraries() -> None:
    """Load what the first page needs, while its person signs in; what is loaded then stays.

    The collector of garbage, which frees closed windows, leaves it out: otherwise it would stop all windows for a
    fraction of a second, and run so rarely that many windows wait for it.
    """
    for name in ("pyarrow.ipc", "pyarrow.parquet"):
        import_module(name)
    gc.freeze()


def list_patterns(application: DashboardApplication) -> list[str]:
    """List the regular expressions of all paths that are served."""
    return [_pattern_of(rule) for rule in application.wildcard_router.rules]


def _pattern_of(rule: Rule) -> str:
    return str(cast(PathMatches, rule.matcher).regex.pattern)


def _is_unused(pattern: str) -> bool:
    """Whether Bokeh added a route that nothing uses: an icon outside of our prefix, and static files for each page."""
    is_own_static = pattern.startswith(f"{shell.PREFIX}/static/")
    return not pattern.startswith(shell.PREFIX) or ("/static/" in pattern and not is_own_static)


def _keep_used_routes() -> None:
    """Keep a page and its websocket of the routes that Bokeh makes for each page; its list of handlers is public."""
    urls.per_app_patterns[:] = [(r"", PageHandler), (r"/ws", PageSocket)]


def _address_of(request: HTTPServerRequest) -> str:
    """Return the address of a page as its browser sees it, without the host."""
    return sign_in.root_of(request) + str(request.uri).removeprefix(shell.PREFIX)


def _cookie_of(request: Any) -> str | None:
    found = request.cookies.get(COOKIE)
    return None if found is None else str(getattr(found, "value", found))
