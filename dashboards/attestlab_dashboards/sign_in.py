"""Sign-in and sign-out: an HTML form, a cookie, and the check that a request comes from our own page."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

from markupsafe import Markup
from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler

from attestlab.core.errors import AttestLabError, AuthInvalid, RateLimited, Unavailable
from attestlab.core.path_prefix import FORWARDED_PREFIX
from attestlab.web.page_origin import is_own_origin
from attestlab_dashboards import shell
from attestlab_dashboards.client_names import without_names
from attestlab_dashboards.configuration import Configuration, DemoPerson
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import BrowserSession, BrowserSessions, read_or_close

COOKIE: Final = "attestlab_dash"
SIGN_IN: Final = "sign-in"  # as the links of pages name it
START: Final = "risk"
_WRONG: Final = "The address or the password is wrong."


class SessionHandler(RequestHandler):
    """A request handler that knows the configuration and the browser sessions."""

    def initialize(self, configuration: Configuration, sessions: BrowserSessions) -> None:
        """Take what all requests share."""
        self.configuration = configuration
        self.sessions = sessions

    @property
    def root(self) -> str:
        """The path of the dashboards, as browsers see it."""
        return root_of(self.request)

    def find_session(self) -> BrowserSession | None:
        """Find the session of this browser."""
        return self.sessions.find(self.get_cookie(COOKIE))

    def comes_from_own_page(self) -> bool:
        """Whether a page of ours sent the form."""
        return is_own_origin(self.request.headers.get("Origin"), self.request.host, self.configuration.public_url)


class SignInHandler(SessionHandler):
    """The form for address and password, and what happens when it is sent."""

    def get(self) -> None:
        """Show the form; a signed-in person continues."""
        if self.find_session() is not None:
            self.redirect(read_target(self.get_argument("next", ""), self.root))
            return
        self._show()

    async def post(self) -> None:
        """Sign in, and continue with the page that was asked for."""
        if not self.comes_from_own_page():
            self._show("Please send the form from this page.", status=403)
            return
        email, password = self._read_credentials()
        address = self.request.remote_ip or ""
        try:
            door, facts = await asyncio.get_running_loop().run_in_executor(
                None, lambda: self._sign_in(email, password, address)
            )
        except AuthInvalid:
            self._show(_WRONG, status=401, email=email)
        except RateLimited as error:
            self._show(f"Too many attempts failed. {error}", status=429, email=email)
        except AttestLabError as error:
            self._show(str(error), status=400, email=email)
        else:
            self._begin(door, facts, address)

    def _offered_people(self) -> tuple[DemoPerson, ...]:
        """Return whom a visitor may become with one click: no person at a name that a page elsewhere may have bound."""
        is_known = is_known_host(self.request.host_name, self.configuration.public_url)
        return self.configuration.people if is_known else ()

    def _read_credentials(self) -> tuple[str, str]:
        chosen = self.get_body_argument("person", "")
        for person in self._offered_people():
            if person.email == chosen:
                return person.email, person.password
        return self.get_body_argument("email", "").strip(), self.get_body_argument("password", "", strip=False)

    def _sign_in(self, email: str, password: str, address: str) -> tuple[PersonalDoor, Facts]:
        door = PersonalDoor.sign_in(self.configuration, email, password, address=address)
        try:
            return read_or_close(door)
        except AttestLabError as error:
            message = f"Your name and your rights could not be read, so you are not signed in. {error}"
            raise Unavailable(message) from error

    def _begin(self, door: PersonalDoor, facts: Facts, address: str) -> None:
        old = self.find_session()
        if old is not None:
            self.sessions.end(old, is_final=True)
        cookie = self.sessions.begin(door, facts, address=address)
        self.set_cookie(
            COOKIE, cookie, path=self.root, httponly=True, samesite="Lax", secure=self.configuration.is_secure
        )
        self.redirect(read_target(self.get_body_argument("next", ""), self.root), status=303)

    def _show(self, problem: str = "", *, status: int = 200, email: str = "") -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        target = read_target(self.get_argument("next", ""), self.root)
        self.finish(str(draw_form(self._offered_people(), target, problem, email)))


class SignOutHandler(SessionHandler):
    """Sign-out: it ends the session here and at the service, and closes the session's pages."""

    async def post(self) -> None:
        """End the session of this browser."""
        session = self.find_session()
        if session is not None and self.comes_from_own_page():
            await asyncio.get_running_loop().run_in_executor(None, session.door.sign_out)
            self.sessions.end(session, is_final=True)
            self.clear_cookie(COOKIE, path=self.root)
        self.redirect(f"{self.root}/{SIGN_IN}", status=303)


class PageRedirect(SessionHandler):
    """Redirects to a page: from the root of the dashboards to the first one, and from a slash behind a page's name."""

    def get(self, path: str = START) -> None:
        """Redirect to the page, with the query."""
        query = self.request.query
        self.redirect(f"{self.root}/{path}" + (f"?{query}" if query else ""))


def root_of(request: HTTPServerRequest) -> str:
    """Return the path of the dashboards as a browser sees it: behind the prefix that the API's process forwards."""
    return request.headers.get(FORWARDED_PREFIX, "") + shell.PREFIX


def is_known_host(name: str, public_url: str) -> bool:
    """Whether no page elsewhere can bind this name to our address: `localhost`, an IP address or the portal's name.

    >>> [is_known_host(name, "https://lab.example") for name in ("localhost", "[::1]", "lab.example", "evil.example")]
    [True, True, True, False]
    """
    if name == "localhost" or name.endswith(".localhost"):  # browsers resolve it themselves (RFC 6761, section 6.3)
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return name == urlsplit(public_url).hostname
    return True


def read_target(wanted: str, root: str) -> str:
    """Return the page to continue with: one of ours, which are below `root`, or the first one.

    >>> [read_target(each, "/lab/dash") for each in ("/lab/dash/log?entry=7", "//evil.example", "/lab/dash/%2e%2E/x")]
    ['/lab/dash/log?entry=7', '/lab/dash/risk', '/lab/dash/risk']
    >>> read_target("//[", "/lab/dash")
    '/lab/dash/risk'
    """
    start = f"{root}/{START}"
    if not (wanted.isascii() and wanted.isprintable()):
        return start
    try:
        parts = urlsplit(wanted)
    except ValueError:  # brackets that hold no IPv6 address
        return start
    path = unquote(parts.path)  # browsers leave a folder for `%2e%2e`, too
    is_ours = not parts.scheme and not parts.netloc and path.startswith(f"{root}/")
    is_plain = path.isprintable() and not {".", ".."} & {*path.split("/")} and "\\" not in path
    return without_names(wanted) if is_ours and is_plain and not path.startswith(f"{root}/{SIGN_IN}") else start


def draw_form(people: tuple[DemoPerson, ...], target: str, problem: str, email: str) -> Markup:
    """Draw the page of the form."""
    return html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>Sign in · AttestLab</title>{head}"
        '</head><body class="al-sign-in"><main><h1>{logo}Sign in to the dashboards</h1>{problem}'
        '<form method="post" action="{action}"><input type="hidden" name="next" value="{target}">'
        '<label>E-mail<input name="email" type="email" autocomplete="username" required maxlength="254" value="{email}"'
        "{focus}></label>"
        '<label>Password<input name="password" type="password" autocomplete="current-password" required'
        ' maxlength="1024"></label>'
        '<button class="primary" type="submit">Sign in</button></form>{people}'
        '<p class="muted"><a href="../">Verify an attestation</a> needs no account.</p></main></body></html>',
        head=shell.draw_head(),
        logo=shell.LOGO,
        problem=html('<p class="problem" role="alert">{problem}</p>', problem=problem) if problem else NOTHING,
        action=SIGN_IN,
        target=target,
        email=email,
        focus=html(" autofocus"),
        people=_draw_people(people, target),
    )


def _draw_people(people: tuple[DemoPerson, ...], target: str) -> Markup:
    if not people:
        return NOTHING
    buttons = join(
        html(
            '<button name="person" value="{email}"><b>{name}</b><span>{role}</span></button>',
            email=person.email,
            name=person.name,
            role=person.role,
        )
        for person in people
    )
    return html(
        '<form class="people" method="post" action="{action}"><h2>This is a demo. Look around as</h2>'
        '<input type="hidden" name="next" value="{target}">{buttons}</form>',
        action=SIGN_IN,
        target=target,
        buttons=buttons,
    )
