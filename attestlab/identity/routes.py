"""HTTP routes for sign-in, tokens and the current user."""

from dataclasses import asdict
from uuid import UUID

from attestlab.core.errors import AuthInvalid
from attestlab.identity import rules
from attestlab.identity.service import AuthenticatedUser
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
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("identity")
_CACHE_CONTROL = "public, max-age=300"


async def _authenticate_user(request: Request, body: LoginIn) -> AuthenticatedUser:
    """Authenticates the person before the write, because verifying a password is slow."""
    authenticate = request.lab.identity.authenticate
    user: AuthenticatedUser = await request.application.hash_password(
        lambda: authenticate(body.email, body.password, peer=request.peer, now=request.now)
    )
    return user


async def _prepare_password(request: Request, body: PasswordIn) -> AuthenticatedUser:
    """Verifies the current password and hashes the new one before the write."""
    current, new, prepare = body.current_password, body.new_password, request.lab.identity.prepare_password
    user: AuthenticatedUser = await request.application.hash_password(
        lambda: prepare(current, new, caller=request.caller, peer=request.peer, now=request.now)
    )
    return user


@routes.post("/v1/auth/login", scope=PUBLIC, prepare=_authenticate_user, secret=True)
def login(request: Request, body: LoginIn, prepared: AuthenticatedUser) -> TokensOut:
    """Sign in. A wrong password and an unknown address give the same error."""
    return _tokens(request.lab.identity.sign_in(prepared))


@routes.post("/v1/auth/refresh", scope=PUBLIC, secret=True)
def refresh(request: Request, body: RefreshIn) -> TokensOut:
    """Exchange a refresh token for the next tokens; a second use ends the session."""
    issued = request.lab.identity.sessions.refresh(body.refresh_token)
    return request.commit_then_raise(issued) if isinstance(issued, AuthInvalid) else _tokens(issued)


@routes.post("/v1/auth/logout", scope=Requirement(user_only=True), status=204, secret=True)
def logout(request: Request, body: LogoutIn | None) -> None:
    """End the session; its access token is invalid from the next request on."""
    refresh_token = None if body is None else body.refresh_token
    request.lab.identity.sessions.sign_out(caller=request.caller, refresh_token=refresh_token)


@routes.get("/.well-known/jwks.json", scope=PUBLIC, cache_control=_CACHE_CONTROL)
def jwks(request: Request) -> TokenKeysOut:
    """The public keys of access tokens."""
    return TokenKeysOut(keys=[{**key} for key in request.lab.identity.tokens.public_jwks()])


@routes.get("/v1/me", scope=Requirement())
def me(request: Request) -> MeOut:
    """The user or API key of this request, and its permissions."""
    caller = request.caller
    credential = CredentialOut(
        type="jwt" if caller.actor_type == "USER" else "api_key",
        id=UUID(caller.credential_id or caller.actor_id),
        scopes=sorted(caller.scopes),
        expires_at=caller.expires_at,
    )
    fields = asdict(request.lab.identity.current_user(caller=caller))
    return MeOut(**fields, realm=caller.realm, roles=sorted(caller.roles), plan=caller.plan, credential=credential)


@routes.post("/v1/me/password", scope=Requirement(user_only=True), status=204, prepare=_prepare_password, secret=True)
def change_password(request: Request, body: PasswordIn, prepared: AuthenticatedUser) -> None:
    """Change one's password; all other sessions of the person end."""
    request.lab.identity.change_password(prepared, caller=request.caller)


def _tokens(issued: Tokens) -> TokensOut:
    return TokensOut(
        access_token=issued.access_token,
        expires_in=rules.ACCESS_TOKEN_TTL_S,
        refresh_token=issued.refresh_token,
        refresh_expires_in=int(rules.REFRESH_TOKEN_TTL.total_seconds()),
    )
