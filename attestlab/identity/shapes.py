"""Wire models of sign-in, tokens and the current user (CONTRACT section 3)."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from attestlab.core.crypto.passwords import MAX_BYTES
from attestlab.core.shapes import In, Moment, Out, SecretText, Uuid, one_of
from attestlab.orgs.rules import Plan, Realm
from attestlab.orgs.shapes import RoleName, ScopeName

Email = Annotated[str, StringConstraints(min_length=1, max_length=254)]
Password = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]
RealmName = Annotated[str, one_of(Realm)]
PlanName = Annotated[str, one_of(Plan)]
Token = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class LoginIn(In):
    """An e-mail address and its password."""

    email: Email
    password: Password


class RefreshIn(In):
    """A refresh token; this request uses it up."""

    refresh_token: Token


class LogoutIn(In):
    """The refresh token of another session to end as well."""

    refresh_token: Token | None = None


class PasswordIn(In):
    """A person's current password and the new one."""

    current_password: Password
    new_password: Password


class TokensOut(Out):
    """The tokens of a session; times are in seconds."""

    access_token: SecretText
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int
    refresh_token: SecretText
    refresh_expires_in: int


class CredentialOut(Out):
    """The credential of this request; `service` is a lab in the service's own process, with its tenant's id."""

    type: Literal["api_key", "jwt", "service"]
    id: Uuid
    scopes: list[ScopeName]
    expires_at: Moment | None


class MeOut(Out):
    """The user or API key of this request; `email` is null for an API key."""

    id: Uuid
    tenant_id: Uuid
    tenant_name: str
    org_id: Uuid | None
    email: str | None
    name: str
    realm: RealmName
    roles: list[RoleName]
    plan: PlanName
    credential: CredentialOut


class TokenKeysOut(Out):
    """The keys that sign access tokens, as a JSON Web Key Set (RFC 7517)."""

    keys: list[dict[str, object]]
