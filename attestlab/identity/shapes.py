"""What goes over the wire about signing in (CONTRACT section 3)."""

from typing import Annotated, Any, Literal

from pydantic import StringConstraints

from attestlab.core.crypto.passwords import MAX_BYTES
from attestlab.core.shapes import In, Moment, Out, Uuid

Email = Annotated[str, StringConstraints(min_length=1, max_length=254)]
Password = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]
Token = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class LoginIn(In):
    """An address and its password."""

    email: Email
    password: Password


class RefreshIn(In):
    """A refresh token, which is used up by this."""

    refresh_token: Token


class LogoutIn(In):
    """The refresh token of another session that is to end as well."""

    refresh_token: Token | None = None


class PasswordIn(In):
    """A person's password, and the next one."""

    current_password: Password
    new_password: Password


class TokensOut(Out):
    """What a person signs in with from now on; times are in seconds."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int
    refresh_token: str
    refresh_expires_in: int


class CredentialOut(Out):
    """What the request was made with."""

    type: Literal["api_key", "jwt"]
    id: Uuid
    scopes: list[str]
    expires_at: Moment | None


class MeOut(Out):
    """Who the request was made by; `email` is null for an API key."""

    id: Uuid
    tenant_id: Uuid
    tenant_name: str
    org_id: Uuid | None
    email: str | None
    name: str
    realm: str
    roles: list[str]
    plan: str
    credential: CredentialOut


class TokenKeysOut(Out):
    """The keys that access tokens are signed with, as a JSON Web Key Set (RFC 7517)."""

    keys: list[dict[str, Any]]
