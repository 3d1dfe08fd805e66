"""HTTP routes of the page on which people of every realm choose another password. It needs no script."""

from pydantic import ConfigDict, Field

from attestlab.core.crypto.passwords import MIN_LENGTH
from attestlab.core.errors import PermissionDenied, RateLimited
from attestlab.core.shapes import In
from attestlab.identity.password_resets import PasswordResets
from attestlab.portal.consumer_session import PageSessions
from attestlab.portal.page_forms import PRIVATE_FORM, PRIVATE_PAGE, TOKEN_INVALID, FormProblem, to_response, try_form
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")


class ResetPageQuery(In, source="CONTRACT 11.1"):
    """The query of the page; parameters that other programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    token: str = Field(default="", max_length=256, repr=False)
    """The token of the mailed link; without one, the page asks for an address. Format: 43 base64url characters."""


class ResetPageForm(In, source="CONTRACT 11.1"):
    """What the forms of the page send: an address, or the token of the mailed link and the new password."""

    email: str = Field(default="", max_length=254)
    """The address to which the link is mailed. Format: e-mail address."""
    token: str = Field(default="", max_length=256, repr=False)
    """The token of the mailed link, which the page repeats. Format: 43 base64url characters."""
    password: str = Field(default="", repr=False)
    """The new password. Format: at least 12 characters, at most 1024 bytes."""


@routes.get("/reset-password", scope=PUBLIC, **PRIVATE_PAGE)
def get_reset_page(query: ResetPageQuery) -> RawResponse:
    """Get the page for a forgotten password: a form for the address, or with the token of the mail for the password.

    Reading it changes nothing. Programs use `POST /v1/auth/password/forgot` and `POST /v1/auth/password/reset`.
    """
    return _show_form(token=query.token)


@routes.post("/reset-password", scope=PUBLIC, **PRIVATE_FORM, raises=(PermissionDenied, RateLimited))
async def send_reset_form(
    request: Request,
    body: ResetPageForm,
    password_resets: PasswordResets,
    page_sessions: PageSessions,
    executor: Executor,
) -> RawResponse:
    """Have the link mailed, or replace the password, with the forms of the page.

    The answer about an address is the same whether it has an account. A new password ends all sessions of the person.
    A form that another page sent gets 403.
    """
    from attestlab.portal import consumer_page  # imports the template engine, which must not delay the start

    async def mail_link() -> None:
        page_sessions.require_own_form(request)
        address = await executor.run_in_thread(lambda: password_resets.count_request(body.email, now=request.now))
        await executor.write(lambda tx: password_resets.request(address, tx=tx))

    async def replace_password() -> None:
        page_sessions.require_own_form(request)
        prepared = await executor.hash_password(password_resets.prepare, body.token, body.password)
        await executor.write(lambda tx: password_resets.reset(prepared, tx=tx))

    problem = await try_form(replace_password() if body.token else mail_link())
    if problem is not None:
        token = "" if problem.reason == TOKEN_INVALID else body.token
        return _show_form(token=token, address=body.email, problem=problem)
    if body.token:
        page = consumer_page.notice(
            "Your password is replaced",
            "All earlier sessions have ended. Sign in with the new password.",
            consumer_page.SIGN_IN,
            is_for_all=True,
        )
    else:
        page = consumer_page.notice(
            "Look into your mail",
            f"We have sent a mail to {body.email}. Its link works once, within an hour.",
            consumer_page.SIGN_IN,
        )
    return to_response(page)


def _show_form(*, token: str = "", address: str = "", problem: FormProblem | None = None) -> RawResponse:
    from attestlab.portal import consumer_page

    page = consumer_page.render(
        "reset_password.html", token=token, address=address, min_length=MIN_LENGTH, problem=problem
    )
    return to_response(page)
