"""HTTP routes of the page on which consumers change their account. It needs no script."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from pydantic import Field

from attestlab.consumer.accounts.addresses import Addresses
from attestlab.consumer.accounts.rendering import render_export
from attestlab.consumer.accounts.rules import MAX_ADDRESSES
from attestlab.consumer.accounts.service import Accounts, AccountView
from attestlab.consumer.accounts.shapes import AccountPatch, UsernameIn
from attestlab.core.crypto.passwords import MIN_LENGTH
from attestlab.core.errors import Conflict, NotFound, PermissionDenied, RateLimited, ValidationFailed
from attestlab.core.shapes import In
from attestlab.identity.service import Identity
from attestlab.orgs.rules import Caller
from attestlab.portal.consumer_session import PageSession, PageSessions
from attestlab.portal.page_forms import (
    PRIVATE_FORM,
    PRIVATE_PAGE,
    FormOptions,
    FormProblem,
    read_form,
    redirect,
    to_response,
    try_form,
)
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse, save_as
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_SIGN_IN_FIRST: Final = "signin?next=settings"


class SettingsForm(In, source="CONTRACT 11.1"):
    """What the forms of the page send; each field is validated as that of the operation for programs."""

    form_token: str = Field(default="", repr=False)
    """The token of the forms of this session. Format: 43 base64url characters."""
    action: str = ""
    """What to do. Format: save_profile, choose_username, add_email, make_primary, remove_email, change_password,
    export or delete.
    """
    name: str = ""
    """How the person is called. Format: one line, 1-200 characters."""
    bio: str = ""
    """What they say about themselves. Format: text, at most 500 characters."""
    portfolio_visibility: str = ""
    """Who sees their page. Format: public or private."""
    username: str = ""
    """The username, which is chosen once. Format: 3-30 of a-z 0-9 _ -."""
    email: str = ""
    """The address to add, to make the primary one, or to remove. Format: e-mail address."""
    current_password: str = Field(default="", max_length=1024, repr=False)
    """The password of the account, to change it or to delete the account. Format: text."""
    password: str = Field(default="", repr=False)
    """The new password. Format: at least 12 characters, at most 1024 bytes."""


_SETTINGS_FORM: Final[FormOptions] = {
    **PRIVATE_FORM,
    "produces": {"text/html": str, JSON: dict[str, object]},
}


class _Sent(NamedTuple):
    """A form that the page of a session has sent, and the services that it may need."""

    request: Request
    form: SettingsForm
    caller: Caller
    accounts: Accounts
    addresses: Addresses
    identity: Identity
    executor: Executor


@routes.get("/settings", scope=PUBLIC, **PRIVATE_PAGE, redirect="Without a session: the sign-in page.")
async def get_settings_page(
    request: Request, page_sessions: PageSessions, accounts: Accounts, executor: Executor
) -> RawResponse:
    """Get the page on which a consumer changes profile, addresses and password.

    It also has the forms that export or delete the account. Programs use `GET /v1/consumer/me`.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return redirect(_SIGN_IN_FIRST)
    view = await executor.read(lambda: accounts.get(caller=session.caller))
    return _show(session, view)


@routes.post(
    "/settings",
    scope=PUBLIC,
    **_SETTINGS_FORM,
    headers=("Set-Cookie", "Content-Disposition"),
    redirect="It is changed: the page again. Without a session: the sign-in page.",
    raises=(Conflict, NotFound, PermissionDenied, RateLimited),
)
async def send_settings_form(
    request: Request,
    body: SettingsForm,
    page_sessions: PageSessions,
    accounts: Accounts,
    addresses: Addresses,
    identity: Identity,
    executor: Executor,
) -> RawResponse:
    """Change the account with a form of the page, get all that is kept about it as a file, or delete it.

    A form without the token of the session gets 403. The page says what is wrong. Programs use `/v1/consumer/me` and
    the paths beside it.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return redirect(_SIGN_IN_FIRST)
    page_sessions.require_own_form(request, session, body.form_token)
    act = _ACTIONS.get(body.action)
    if act is None:
        raise ValidationFailed.of("/action", "enum", "Send this form with one of its buttons.")
    sent = _Sent(request, body, session.caller, accounts, addresses, identity, executor)
    outcome = await try_form(act(sent))
    if isinstance(outcome, FormProblem):
        view = await executor.read(lambda: accounts.get(caller=session.caller))
        return _show(session, view, sent=body, problem=outcome)
    if body.action == "delete":
        return _show_deleted(page_sessions.clear_cookie(request))
    return outcome or redirect("settings")


async def _save_profile(sent: _Sent) -> None:
    form = sent.form
    values = {"name": form.name, "bio": form.bio, "portfolio_visibility": form.portfolio_visibility}
    patch = read_form(AccountPatch, values)
    await sent.executor.write(lambda tx: sent.accounts.update(patch, caller=sent.caller, tx=tx))


async def _choose_username(sent: _Sent) -> None:
    username = read_form(UsernameIn, {"username": sent.form.username}).username
    await sent.executor.write(lambda tx: sent.accounts.choose_username(username, caller=sent.caller, tx=tx))


async def _add_email(sent: _Sent) -> None:
    count = sent.addresses.count_mail
    address = await sent.executor.run_in_thread(lambda: count(sent.form.email, now=sent.request.now))
    await sent.executor.write(lambda tx: sent.addresses.add(address, caller=sent.caller, tx=tx))


async def _make_primary(sent: _Sent) -> None:
    await sent.executor.write(lambda tx: sent.addresses.make_primary(sent.form.email, caller=sent.caller, tx=tx))


async def _remove_email(sent: _Sent) -> None:
    await sent.executor.write(lambda tx: sent.addresses.remove(sent.form.email, caller=sent.caller, tx=tx))


async def _change_password(sent: _Sent) -> None:
    form, peer, now = sent.form, sent.request.peer, sent.request.now
    prepared = await sent.executor.hash_password(
        lambda: sent.identity.prepare_password(
            form.current_password, form.password, caller=sent.caller, peer=peer, now=now
        )
    )
    await sent.executor.write(lambda tx: sent.identity.change_password(prepared, caller=sent.caller, tx=tx))


async def _export(sent: _Sent) -> RawResponse:
    exported = await sent.executor.run_in_thread(lambda: sent.accounts.export(caller=sent.caller))
    content = render_export(exported).model_dump_json(by_alias=True, indent=2).encode()
    return RawResponse(content, JSON, save_as("account.json"))


async def _delete(sent: _Sent) -> None:
    password, peer, now = sent.form.current_password, sent.request.peer, sent.request.now
    require = sent.accounts.require_password
    await sent.executor.hash_password(lambda: require(password, caller=sent.caller, peer=peer, now=now))
    await sent.executor.write(lambda tx: sent.accounts.delete(caller=sent.caller, tx=tx))


_ACTIONS: Final[Mapping[str, Callable[[_Sent], Awaitable[RawResponse | None]]]] = {
    "save_profile": _save_profile,
    "choose_username": _choose_username,
    "add_email": _add_email,
    "make_primary": _make_primary,
    "remove_email": _remove_email,
    "change_password": _change_password,
    "export": _export,
    "delete": _delete,
}


def _show(
    session: PageSession, view: AccountView, *, sent: SettingsForm | None = None, problem: FormProblem | None = None
) -> RawResponse:
    from attestlab.portal import consumer_page  # imports the template engine, which must not delay the start

    page = consumer_page.render(
        "settings.html",
        session=session,
        problem=problem,
        account=view.account,
        emails=view.emails,
        portfolio_url=view.portfolio_url,
        sent=sent or SettingsForm(),
        open="" if sent is None else sent.action,
        max_addresses=MAX_ADDRESSES,
        min_length=MIN_LENGTH,
    )
    return to_response(page)


def _show_deleted(cookie: str) -> RawResponse:
    from attestlab.portal import consumer_page

    page = consumer_page.notice(
        "Your account is deleted", "What was attested stays provable, and names no one.", consumer_page.FIRST_PAGE
    )
    return to_response(page._replace(headers={**page.headers, "Set-Cookie": cookie}))
