"""HTTP routes for sign-in, tokens and the current user."""

from dataclasses import asdict
from functools import partial
from typing import Literal
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, RateLimited
from attestlab.core.records.actors import ActorType
from attestlab.identity.password_resets import NewPassword, PasswordResets
from attestlab.identity.rendering import render_session, render_tokens
from attestlab.identity.service import AuthenticatedUser, Identity
from attestlab.identity.shapes import (
    AcceptedOut,
    CredentialOut,
    LoginIn,
    LogoutIn,
    MeOut,
    PasswordForgottenIn,
    PasswordIn,
    PasswordResetIn,
    RefreshIn,
    SessionOut,
    SessionsQuery,
    TokenKeysOut,
    TokensOut,
)
from attestlab.orgs.rules import Caller
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import KeptTokenUse, Request
from attestlab.web.response import CommittedError
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("identity")
_SESSIONS = "sessions"
_CACHE_CONTROL = "public, max-age=300"
_CREDENTIAL_TYPES: dict[ActorType, Literal["api_key", "jwt", "service", "agent_session"]] = {
    "API_KEY": "api_key",
    "USER": "jwt",
    "SERVICE": "service",
    "AGENT": "agent_session",
}


async def _authenticate_user(
    request: Request, body: LoginIn, identity: Identity, executor: Executor
) -> AuthenticatedUser:
    """Authenticate the person before the write, because verifying a password is slow."""
    return await executor.hash_password(
        lambda: identity.authenticate(body.email, body.password, peer=request.peer, now=request.now)
    )


async def _prepare_password(
    request: Request, body: PasswordIn, caller: Caller, identity: Identity, executor: Executor
) -> AuthenticatedUser:
    """Verify the current password and hash the new one before the write."""
    return await executor.hash_password(
        lambda: identity.prepare_password(
            body.current_password, body.new_password, caller=caller, peer=request.peer, now=request.now
        )
    )


@routes.post("/v1/auth/login", scope=PUBLIC, prepare=_authenticate_user, secret=True, raises=(AuthInvalid,))
def sign_in(prepared: AuthenticatedUser, tx: Transaction, identity: Identity) -> TokensOut:
    """Sign in. A wrong password, an unknown address and one that is not verified yet give the same error.

    The access token goes into `Authorization: Bearer`; the refresh token is used once, for the next pair.
    Repeated failures slow down further attempts.
    """
    return render_tokens(identity.sign_in(prepared, tx=tx))


@routes.post("/v1/auth/refresh", scope=PUBLIC, secret=True, raises=(AuthInvalid,))
def refresh_tokens(
    request: Request, body: RefreshIn, tx: Transaction, identity: Identity
) -> TokensOut | CommittedError:
    """Exchange a refresh token for the next tokens; a second use ends the session.

    A token that is used twice was probably stolen, so all tokens of its session become invalid.
    """
    if (use := request.kept_token_use) is not None:
        is_reopened = use == KeptTokenUse.REOPEN
        return render_tokens(identity.sessions.renew_kept(body.refresh_token, is_reopened=is_reopened, tx=tx))
    issued = identity.sessions.refresh(body.refresh_token, tx=tx)
    return CommittedError(issued) if isinstance(issued, AuthInvalid) else render_tokens(issued)


@routes.post("/v1/auth/logout", scope=Requirement(user_only=True), status=204, secret=True)
def sign_out(body: LogoutIn | None, tx: Transaction, caller: Caller, identity: Identity) -> None:
    """End the session; its access token is invalid from the next request on.

    With `refresh_token` the session of that token ends as well.
    """
    refresh_token = None if body is None else body.refresh_token
    identity.sessions.sign_out(caller=caller, refresh_token=refresh_token, tx=tx)


@routes.get("/v1/auth/sessions", scope=Requirement(user_only=True))
async def list_sessions(
    query: SessionsQuery, caller: Caller, identity: Identity, executor: Executor
) -> Page[SessionOut]:
    """List the open sessions of the signed-in person, newest first; an owner or admin also lists those of others.

    A session begins with a login, and is over with a logout, or 30 days after its last refresh.
    """
    before = decode_id(_SESSIONS, query.cursor)
    found = await executor.run_in_thread(
        partial(identity.sessions.list_page, query, caller=caller, before=before, limit=query.limit + 1)
    )
    shown, cursor = split_page(found, limit=query.limit, kind=_SESSIONS, position=lambda each: [str(each.row.id)])
    return Page[SessionOut](items=[render_session(each) for each in shown], next_cursor=cursor)


@routes.delete("/v1/auth/sessions/{id}", scope=Requirement(user_only=True), status=204)
def end_session(id: UUID, tx: Transaction, caller: Caller, identity: Identity) -> None:
    """End a session: its tokens are invalid from the next request on; one that has ended stays so.

    An owner or admin also ends sessions of other people, but only an owner those of an owner.
    """
    identity.sessions.end(id, caller=caller, tx=tx)


@routes.get("/.well-known/jwks.json", scope=PUBLIC, cache_control=_CACHE_CONTROL)
def get_token_keys(identity: Identity) -> TokenKeysOut:
    """Get the public keys of access tokens.

    It is a JSON Web Key Set (RFC 7517), for services that check access tokens themselves.
    """
    return TokenKeysOut(keys=[{**key} for key in identity.tokens.public_jwks()])


@routes.get("/v1/me", scope=Requirement())
def get_me(caller: Caller, identity: Identity) -> MeOut:
    """Get the user, API key or agent of this request, and its permissions.

    It answers any valid credential, so it is a good first request of a client.
    """
    credential = CredentialOut(
        type=_CREDENTIAL_TYPES[caller.actor_type],
        id=caller.tenant_id if caller.actor_type == "SERVICE" else UUID(caller.credential_id or caller.actor_id),
        scopes=sorted(caller.scopes),
        expires_at=caller.expires_at,
    )
    fields = asdict(identity.current_user(caller=caller))
    return MeOut(**fields, realm=caller.realm, roles=sorted(caller.roles), plan=caller.plan, credential=credential)


@routes.post("/v1/me/password", scope=Requirement(user_only=True), status=204, prepare=_prepare_password, secret=True)
def change_password(prepared: AuthenticatedUser, tx: Transaction, caller: Caller, identity: Identity) -> None:
    """Change one's password; all other sessions of the person end.

    The current password is required. A password must be long rather than complicated.
    """
    identity.change_password(prepared, caller=caller, tx=tx)


async def _count_request(
    request: Request, body: PasswordForgottenIn, password_resets: PasswordResets, executor: Executor
) -> str:
    """Count the mail before the write, because the counts are not part of the records."""
    return await executor.run_in_thread(lambda: password_resets.count_request(body.email, now=request.now))


@routes.post(
    "/v1/auth/password/forgot", scope=PUBLIC, prepare=_count_request, status=202, secret=True, raises=(RateLimited,)
)
def forget_password(prepared: str, tx: Transaction, password_resets: PasswordResets) -> AcceptedOut:
    """Mail a link to choose another password; the answer is the same whatever the address.

    People of every realm use it. The link works once, within an hour; an address is sent at most three of these mails
    an hour.
    """
    password_resets.request(prepared, tx=tx)
    return AcceptedOut()


async def _prepare_reset(body: PasswordResetIn, password_resets: PasswordResets, executor: Executor) -> NewPassword:
    """Validate the token and hash the password before the write, because hashing is slow."""
    return await executor.hash_password(password_resets.prepare, body.token, body.password)


@routes.post("/v1/auth/password/reset", scope=PUBLIC, prepare=_prepare_reset, status=204, secret=True)
def reset_password(prepared: NewPassword, tx: Transaction, password_resets: PasswordResets) -> None:
    """Choose another password with the token of a mailed link, which ends all sessions of the person.

    A token that is unknown, used or expired is a 400 with the reason `token_invalid`.
    """
    password_resets.reset(prepared, tx=tx)
