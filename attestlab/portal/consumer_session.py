"""Browser sessions of consumers: a cookie (RFC 6265) that names the session, and the tokens of its forms.

The cookie holds the refresh token of the session and never uses it up, so that it opens pages as long as the session
is open: until sign-out, a new password, or thirty days. Scripts cannot read it. A form repeats a token that is derived
from the cookie, which pages of other hosts cannot know.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final

from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import AuthInvalid, PermissionDenied
from attestlab.identity import rules
from attestlab.identity.service import Identity
from attestlab.identity.sessions import Tokens
from attestlab.orgs.rules import Caller, Realm
from attestlab.portal.page_forms import FOREIGN_FORM
from attestlab.web.cookies import format_cookie, read_cookie
from attestlab.web.page_origin import is_own_origin
from attestlab.web.request import Request

COOKIE: Final = "attestlab_session"
_FORM_KEY: Final = b"form of a page"
_REFUSED: Final = "This form was sent from another page, or before you last signed in. Send it from here."


@dataclass(frozen=True, slots=True)
class PageSession:
    """A signed-in consumer; every form of their pages repeats `form_token`."""

    caller: Caller
    form_token: str = field(repr=False)


class PageSessions:
    """Finds and ends the sessions of browsers, and writes their cookies; the service of identity begins them."""

    def __init__(self, *, identity: Identity, portal_url: str) -> None:
        self.identity = identity
        self.portal_url = portal_url

    def find(self, request: Request) -> PageSession | None:
        """Find the session of a request's cookie; None if it has ended, or belongs to no consumer."""
        secret = read_cookie(request, COOKIE)
        try:
            caller = self.identity.sessions.authenticate_browser(secret, now=request.now)
        except AuthInvalid:
            return None
        return PageSession(caller, derive_form_token(secret)) if caller.realm == Realm.CONSUMER else None

    def end(self, session: PageSession | None, *, tx: Transaction) -> None:
        """End a browser's session, if it has one: on sign-out, and when another one takes its place."""
        if session is not None:
            self.identity.sessions.sign_out(caller=session.caller, tx=tx)

    def require_own_form(self, request: Request, session: PageSession | None = None, form_token: str = "") -> None:
        """Require that a page of ours sent a form, and in a session the page of this session.

        Raises:
            PermissionDenied: the origin is another one, or the token is wrong.
        """
        is_own = is_own_origin(request.header("Origin"), request.header("Host"), self.portal_url)
        expected = "" if session is None else session.form_token
        if not is_own or not hmac.compare_digest(form_token.encode(), expected.encode()):
            raise PermissionDenied(_REFUSED, details={"reason": FOREIGN_FORM})

    def set_cookie(self, request: Request, tokens: Tokens) -> str:
        """Build the `Set-Cookie` of a session that begins."""
        return self._write_cookie(request, tokens.refresh_token, int(rules.REFRESH_TOKEN_TTL.total_seconds()))

    def clear_cookie(self, request: Request) -> str:
        """Build the `Set-Cookie` that makes the browser forget its session."""
        return self._write_cookie(request, "", 0)

    def _write_cookie(self, request: Request, value: str, max_age_s: int) -> str:
        is_secure = self.portal_url.startswith("https:")
        return format_cookie(request, COOKIE, value, path="/", max_age_s=max_age_s, is_secure=is_secure)


def derive_form_token(secret: str) -> str:
    """Derive the token of a session's forms from the value of its cookie."""
    return b64url_encode(hmac.digest(secret.encode(), _FORM_KEY, hashlib.sha256))
