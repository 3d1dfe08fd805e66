"""HTTP routes of the pages that begin and end a consumer's session. They need no script."""

import re
from typing import Final

from pydantic import ConfigDict, Field

from attestlab.audit import trail
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, PermissionDenied
from attestlab.core.shapes import In
from attestlab.identity.rules import SignInFailed
from attestlab.identity.service import AuthenticatedUser, Identity
from attestlab.identity.sessions import Tokens
from attestlab.orgs.rules import Realm
from attestlab.portal.consumer_session import PageSessions
from attestlab.portal.page_forms import PRIVATE_FORM, PRIVATE_PAGE, FormProblem, redirect, to_response, try_form
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_START: Final = "inbox"
_TARGET = re.compile(r"inbox(?:/[0-9a-f-]{36})?|protect|settings")
_NOT_SIGNED_IN: Final = FormProblem(
    "The address or the password is wrong, or the address is not verified yet. If you have just signed up, follow the"
    " link in the mail first.",
    401,
)
_OF_A_TEAM: Final = "This is the account of a team's member, who has no inbox here. Sign in to the dashboards."


class SignInQuery(In, source="CONTRACT 11.1"):
    """The query of the sign-in page; parameters that other programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    next: str = ""
    """The page to continue with; any other text leads to the inbox.
    Format: inbox, inbox/ and an id, protect or settings.
    """


class SignInForm(In, source="CONTRACT 11.1"):
    """What the form of the sign-in page sends."""

    email: str = Field(default="", max_length=254)
    """The address of the account. Format: e-mail address."""
    password: str = Field(default="", max_length=1024, repr=False)
    """Its password. Format: text."""
    next: str = ""
    """The page to continue with, as the page was asked for it. Format: as in the query."""


class SignOutForm(In, source="CONTRACT 11.1"):
    """What the button for signing out sends."""

    form_token: str = Field(default="", repr=False)
    """The token of the forms of this session. Format: 43 base64url characters."""


@routes.get(
    "/signin",
    scope=PUBLIC,
    **PRIVATE_PAGE,
    redirect="The browser has a session: the page to continue with.",
)
async def get_signin_page(
    request: Request, query: SignInQuery, page_sessions: PageSessions, executor: Executor
) -> RawResponse:
    """Get the page on which consumers sign in.

    It needs no script, and continues with the page that `next` names. Programs use `POST /v1/auth/login`.
    """
    target = read_target(query.next)
    if await executor.read(page_sessions.find, request) is not None:
        return redirect(target)
    return _show_form(target)


@routes.post(
    "/signin",
    scope=PUBLIC,
    **PRIVATE_FORM,
    status=303,
    headers=("Set-Cookie",),
    redirect="The session begins: the page to continue with.",
    raises=(AuthInvalid, PermissionDenied),
)
async def send_signin_form(
    request: Request, body: SignInForm, identity: Identity, page_sessions: PageSessions, executor: Executor
) -> RawResponse:
    """Sign in with the form of its page; a cookie keeps the session, which scripts cannot read.

    A form that another page sent gets 403. A wrong password, an unknown address and one that is not verified have the
    same answer.
    """
    target = read_target(body.next)
    earlier = await executor.read(page_sessions.find, request)

    def begin(tx: Transaction, user: AuthenticatedUser) -> Tokens:
        page_sessions.end(earlier, tx=tx)
        return identity.sign_in(user, tx=tx)

    async def sign_in() -> Tokens:
        page_sessions.require_own_form(request)
        user = await executor.hash_password(
            lambda: identity.authenticate(body.email, body.password, peer=request.peer, now=request.now)
        )
        _require_consumer(user)
        return await executor.write(lambda tx: begin(tx, user))

    try:
        tokens = await try_form(sign_in())
    except SignInFailed as error:
        failed = error
        await executor.write(lambda tx: trail.record_denied(tx, request, failed))
        tokens = _NOT_SIGNED_IN
    if isinstance(tokens, FormProblem):
        return _show_form(target, address=body.email, problem=tokens)
    return redirect(target, cookie=page_sessions.set_cookie(request, tokens))


@routes.post(
    "/signout",
    scope=PUBLIC,
    **PRIVATE_FORM,
    status=303,
    headers=("Set-Cookie",),
    redirect="The session has ended: the sign-in page.",
    raises=(PermissionDenied,),
)
async def send_signout_form(
    request: Request, body: SignOutForm, page_sessions: PageSessions, executor: Executor
) -> RawResponse:
    """End the session of this browser; its cookie opens nothing from the next request on.

    A form without the token of the session gets 403. Programs use `POST /v1/auth/logout`.
    """
    session = await executor.read(page_sessions.find, request)
    if session is not None:
        page_sessions.require_own_form(request, session, body.form_token)
        await executor.write(lambda tx: page_sessions.end(session, tx=tx))
    return redirect("signin", cookie=page_sessions.clear_cookie(request))


def read_target(wanted: str) -> str:
    """Return the page to continue with: one of a consumer's own, or the inbox.

    >>> [read_target(each) for each in ("settings", "//evil.example", "inbox/../docs")]
    ['settings', 'inbox', 'inbox']
    """
    return wanted if _TARGET.fullmatch(wanted) else _START


def _require_consumer(user: AuthenticatedUser) -> None:
    if user.realm != Realm.CONSUMER:
        raise PermissionDenied(_OF_A_TEAM, details={"required_realm": Realm.CONSUMER})


def _show_form(target: str, *, address: str = "", problem: FormProblem | None = None) -> RawResponse:
    from attestlab.portal import consumer_page  # imports the template engine, which must not delay the start

    return to_response(consumer_page.render("signin.html", next=target, address=address, problem=problem))
