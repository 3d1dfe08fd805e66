"""HTTP routes of the pages on which people sign up as consumers and verify their addresses. They need no script."""

from collections.abc import Mapping
from typing import Final

from pydantic import ConfigDict, Field

from attestlab.consumer.accounts.addresses import Addresses
from attestlab.consumer.accounts.shapes import SignupIn
from attestlab.consumer.accounts.signups import PreparedSignup, SignedUp, Signups
from attestlab.consumer.accounts.verification import EmailVerification, VerifiedEmail
from attestlab.core.crypto.passwords import MIN_LENGTH
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied, RateLimited, ValidationFailed
from attestlab.core.shapes import In
from attestlab.portal.consumer_session import PageSessions
from attestlab.portal.page_forms import (
    PRIVATE_FORM,
    PRIVATE_PAGE,
    TOKEN_INVALID,
    FormProblem,
    read_form,
    redirect,
    to_response,
    try_form,
)
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_INVITATION_UNUSABLE: Final = FormProblem(
    "This invitation was used or has expired. Sign in if you have an account; otherwise sign up here, and what was"
    " issued to your address waits for you all the same.",
    404,
)


class MailedLinkQuery(In, source="CONTRACT 11.1"):
    """The query of a mailed link; parameters that mail programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    token: str = Field(default="", max_length=256, repr=False)
    """The token of the link; the pages have another form without one. Format: 43 base64url characters."""


class SignupForm(In, source="CONTRACT 11.1"):
    """What the form of the sign-up page sends; each field is validated as that of the operation for programs."""

    email: str = ""
    """The address of the account. Format: e-mail address."""
    name: str = ""
    """How the person is called. Format: one line, 1-200 characters."""
    username: str = ""
    """The username, if the person wants one already. Format: 3-30 of a-z 0-9 _ -."""
    password: str = Field(default="", repr=False)
    """The password that the person chooses. Format: 12-128 characters."""
    invitation_token: str = Field(default="", repr=False)
    """The token of an invitation, which the page repeats. Format: 43 base64url characters."""

    def select_filled(self) -> Mapping[str, str]:
        """Return the fields that are not empty."""
        return {name: value for name, value in self if value}


class VerifyEmailForm(In, source="CONTRACT 11.1"):
    """What the forms of the page send: an address, or the token of the mailed link and the password."""

    email: str = Field(default="", max_length=254)
    """The address to which the link is mailed again. Format: e-mail address."""
    token: str = Field(default="", max_length=256, repr=False)
    """The token of the mailed link, which the page repeats. Format: 43 base64url characters."""
    password: str = Field(default="", max_length=1024, repr=False)
    """The password that was chosen for the account. Format: text."""


@routes.get("/signup", scope=PUBLIC, **PRIVATE_PAGE, raises=(NotFound,))
async def get_signup_page(query: MailedLinkQuery, signups: Signups, executor: Executor) -> RawResponse:
    """Get the page on which people sign up; the token of an invitation makes it theirs with one password.

    Reading it changes nothing; an invitation that does not work has a 404. Programs use `POST /v1/consumer/signup`.
    """
    if not query.token:
        return _show_signup(SignupForm())
    return await _show_invitation(SignupForm(invitation_token=query.token), signups, executor)


@routes.post(
    "/signup",
    scope=PUBLIC,
    **PRIVATE_FORM,
    headers=("Set-Cookie",),
    redirect="An invitation opened the account, and the session begins: the inbox.",
    raises=(Conflict, NotFound, PermissionDenied, RateLimited),
)
async def send_signup_form(
    request: Request, body: SignupForm, signups: Signups, page_sessions: PageSessions, executor: Executor
) -> RawResponse:
    """Sign up with the form of its page.

    The answer is the same whether the address has an account: a page that leads to the mail. With an invitation, the
    account is open and the session begins. A form that another page sent gets 403.
    """
    from attestlab.portal import consumer_page  # imports the template engine, which must not delay the start

    earlier = await executor.read(page_sessions.find, request)

    def open_account(tx: Transaction, prepared: PreparedSignup) -> SignedUp:
        signed_up = signups.sign_up(prepared, tx=tx)
        if signed_up.tokens is not None:
            page_sessions.end(earlier, tx=tx)
        return signed_up

    async def sign_up() -> SignedUp:
        page_sessions.require_own_form(request)
        signup = read_form(SignupIn, body.select_filled())
        prepared = await executor.hash_password(lambda: signups.prepare(signup, peer=request.peer, now=request.now))
        return await executor.write(lambda tx: open_account(tx, prepared))

    signed_up = await try_form(sign_up())
    if isinstance(signed_up, FormProblem):
        if body.invitation_token:
            return await _show_invitation(body, signups, executor, problem=signed_up)
        return _show_signup(body, problem=signed_up)
    if signed_up.tokens is not None:
        return redirect("inbox", cookie=page_sessions.set_cookie(request, signed_up.tokens))
    return to_response(
        consumer_page.notice(
            "Look into your mail",
            f"We have sent a mail to {signed_up.email}. Its link opens your account; it works for a day.",
            consumer_page.SIGN_IN,
        )
    )


@routes.get("/verify-email", scope=PUBLIC, **PRIVATE_PAGE)
def get_verify_page(query: MailedLinkQuery) -> RawResponse:
    """Get the page of a mailed link, which asks for the password; without a token it sends the mail again.

    Reading it changes nothing. Programs use `POST /v1/consumer/verify-email` and `.../resend`.
    """
    return _show_verification(token=query.token)


@routes.post("/verify-email", scope=PUBLIC, **PRIVATE_FORM, raises=(PermissionDenied, RateLimited))
async def send_verify_form(
    request: Request,
    body: VerifyEmailForm,
    email_verification: EmailVerification,
    signups: Signups,
    addresses: Addresses,
    page_sessions: PageSessions,
    executor: Executor,
) -> RawResponse:
    """Verify an address with its token and password, or have the mail sent again.

    The password is that of the sign-up, so that a person who follows a stranger's mail completes nothing. The answer
    about an address is the same whether it has an account. A form that another page sent gets 403.
    """

    async def verify() -> VerifiedEmail:
        page_sessions.require_own_form(request)
        signup_id = await executor.hash_password(
            lambda: email_verification.require_password(body.token, body.password, peer=request.peer, now=request.now)
        )
        return await executor.write(lambda tx: email_verification.verify(body.token, signup_id=signup_id, tx=tx))

    async def resend() -> None:
        page_sessions.require_own_form(request)
        address = await executor.run_in_thread(lambda: addresses.count_mail(body.email, now=request.now))
        await executor.write(lambda tx: signups.resend(address, tx=tx))

    outcome = await try_form(verify() if body.token else resend())
    if isinstance(outcome, FormProblem):
        token = "" if outcome.reason == TOKEN_INVALID else body.token
        return _show_verification(token=token, address=body.email, problem=outcome)
    return _show_verified(outcome) if outcome is not None else _show_sent(body.email)


async def _show_invitation(
    sent: SignupForm, signups: Signups, executor: Executor, *, problem: FormProblem | None = None
) -> RawResponse:
    """Show the form for the address of an invitation; for one that does not work, the form for any address."""
    try:
        address = await executor.read(signups.find_invited, sent.invitation_token)
    except ValidationFailed:
        return _show_signup(SignupForm(), problem=_INVITATION_UNUSABLE)
    return _show_signup(sent, invited_address=address, problem=problem)


def _show_signup(sent: SignupForm, *, invited_address: str = "", problem: FormProblem | None = None) -> RawResponse:
    from attestlab.portal import consumer_page

    page = consumer_page.render(
        "signup.html", sent=sent, invited_address=invited_address, min_length=MIN_LENGTH, problem=problem
    )
    return to_response(page)


def _show_verification(*, token: str, address: str = "", problem: FormProblem | None = None) -> RawResponse:
    from attestlab.portal import consumer_page

    return to_response(consumer_page.render("verify_email.html", token=token, address=address, problem=problem))


def _show_sent(address: str) -> RawResponse:
    from attestlab.portal import consumer_page

    text = f"We have sent a mail to {address}. If a sign-up waits, its link opens the account; it works for a day."
    return to_response(consumer_page.notice("Look into your mail", text, consumer_page.SIGN_IN))


def _show_verified(verified: VerifiedEmail) -> RawResponse:
    from attestlab.portal import consumer_page

    claimed = {0: "Nothing waited for it.", 1: "One attestation waited for it, and is in your inbox now."}
    several = f"{verified.claimed:,} attestations waited for it, and are in your inbox now."
    text = f"{verified.email} is yours. {claimed.get(verified.claimed, several)}"
    return to_response(consumer_page.notice("Your address is verified", text, consumer_page.SIGN_IN))
