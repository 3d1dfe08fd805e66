"""HTTP routes for sign-in, tokens and the current user."""

from dataclasses import asdict
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid
from attestlab.identity import rules
from attestlab.identity.service import AuthenticatedUser, Identity
from attestlab.identity.sessions import Tokens
from attestlab.identity.shapes import (
    CredentialOut,
    LoginIn,
    LogoutIn,
    MeOut,
    PasswordIn,
    RefreshIn,
    TokenKeysOut,
    TokensOut,
)
from attestlab.orgs.rules import Caller
from attestlab.web.executor import Executor
from attestlab.web.request import CommittedError, Request
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("identity")
_CACHE_CONTROL = "public, max-age=300"


async def _authenticate_user(
    request: Request, body: LoginIn, identity: Identity, executor: Executor
) -> AuthenticatedUser:
    """Authenticates the person before the write, because verifying a password is slow."""
    return await executor.hash_password(
        lambda: identity.authenticate(body.email, body.password, peer=request.peer, now=request.now)
    )


async def _prepare_password(
    request: Request, body: PasswordIn, caller: Caller, identity: Identity, executor: Executor
) -> AuthenticatedUser:
    """Verifies the current password and hashes the new one before the write."""
    return await executor.hash_password(
        lambda: identity.prepare_password(
            body.current_password, body.new_password, caller=caller, peer=request.peer, now=request.now
        )
    )


@routes.post("/v1/auth/login", scope=PUBLIC, prepare=_authenticate_user, secret=True)
def login(prepared: AuthenticatedUser, tx: Transaction, identity: Identity) -> TokensOut:
    """Sign in. A wrong password and an unknown address give the same error."""
    return _tokens(identity.sign_in(prepared, tx=tx))


@routes.post("/v1/auth/refresh", scope=PUBLIC, secret=True)
def refresh(body: RefreshIn, tx: Transaction, identity: Identity) -> TokensOut | CommittedError:
    """Exchange a refresh token for the next tokens; a second use ends the session."""
    issued = identity.sessions.refresh(body.refresh_token, tx=tx)
    return CommittedError(issued) if isinstance(issued, AuthInvalid) else _tokens(issued)


@routes.post("/v1/auth/logout", scope=Requirement(user_only=True), status=204, secret=True)
def logout(body: LogoutIn | None, tx: Transaction, caller: Caller, identity: Identity) -> None:
    """End the session; its access token is invalid from the next request on."""
    refresh_token = None if body is None else body.refresh_token
    identity.sessions.sign_out(caller=caller, refresh_token=refresh_token, tx=tx)


@routes.get("/.well-known/jwks.json", scope=PUBLIC, cache_control=_CACHE_CONTROL)
def jwks(identity: Identity) -> TokenKeysOut:
    """The public keys of access tokens."""
    return TokenKeysOut(keys=[{**key} for key in identity.tokens.public_jwks()])


@routes.get("/v1/me", scope=Requirement())
def me(caller: Caller, identity: Identity) -> MeOut:
    """The user or API key of this request, and its permissions."""
    credential = CredentialOut(
        type="jwt" if caller.actor_type == "USER" else "api_key",
        id=UUID(caller.credential_id or caller.actor_id),
        scopes=sorted(caller.scopes),
        expires_at=caller.expires_at,
    )
    fields = asdict(identity.current_user(caller=caller))
    return MeOut(**fields, realm=caller.realm, roles=sorted(caller.roles), plan=caller.plan, credential=credential)


@routes.post("/v1/me/password", scope=Requirement(user_only=True), status=204, prepare=_prepare_password, secret=True)
def change_password(prepared: AuthenticatedUser, tx: Transaction, caller: Caller, identity: Identity) -> None:
    """Change one's password; all other sessions of the person end."""
    identity.change_password(prepared, caller=caller, tx=tx)


def _tokens(issued: Tokens) -> TokensOut:
    return TokensOut(
        access_token=issued.access_token,
        expires_in=rules.ACCESS_TOKEN_TTL_S,
        refresh_token=issued.refresh_token,
        refresh_expires_in=int(rules.REFRESH_TOKEN_TTL.total_seconds()),
    )
