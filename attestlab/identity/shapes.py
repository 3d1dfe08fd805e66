"""Wire models of sign-in, tokens and the current user (CONTRACT section 3)."""

from typing import Annotated, Literal, Self

from pydantic import StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from attestlab.core.crypto.passwords import MAX_BYTES
from attestlab.core.filters import NO_CONDITION, Filters
from attestlab.core.shapes import In, Moment, Out, SecretText, Uuid, one_of
from attestlab.orgs.rules import Plan, Realm
from attestlab.orgs.shapes import InvitedEmail, RoleName, ScopeName
from attestlab.web.paging import PageQuery

SignInEmail = Annotated[str, StringConstraints(min_length=1, max_length=254)]
Password = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]
RealmName = Annotated[str, one_of(Realm)]
PlanName = Annotated[str, one_of(Plan)]
Token = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class LoginIn(In, source="CONTRACT 3"):
    """An e-mail address and its password."""

    email: SignInEmail
    """The address of the account. Format: e-mail address."""
    password: Password
    """Its password. Format: text."""


class RefreshIn(In, source="CONTRACT 3"):
    """A refresh token; this request uses it up."""

    refresh_token: Token
    """The refresh token; this request uses it up. Format: as in tokens."""


class LogoutIn(In, source="CONTRACT 3"):
    """The refresh token of another session to end as well."""

    refresh_token: Token | None = None
    """The refresh token of another session to end as well. Format: as in tokens."""


class PasswordIn(In, source="CONTRACT 3"):
    """A person's current password and the new one."""

    current_password: Password
    """The present password. Format: text."""
    new_password: Password
    """The password from now on. Format: text, at least 12 characters."""


class PasswordForgottenIn(In, source="CONTRACT 11.1"):
    """The address of someone who forgot their password."""

    email: InvitedEmail
    """Where the link goes, if an account signs in with it. Format: e-mail address."""


class PasswordResetIn(In, source="CONTRACT 11.1"):
    """The token of a mailed link, and the password that its bearer chooses."""

    token: Token
    """The token in the link. Format: base64url, 43 characters."""
    password: Password
    """The password from now on. Format: text, at least 12 characters."""


class AcceptedOut(Out, source="CONTRACT 11.1"):
    """An empty answer: the mail, if there is one to send, is on its way."""


class TokensOut(Out, source="CONTRACT 3"):
    """The tokens of a session; times are in seconds."""

    access_token: SecretText
    """The token for a person's requests. Format: JWT, compact JWS, RFC 7519."""
    token_type: Literal["Bearer"] = "Bearer"
    """The scheme of the Authorization header. Format: Bearer."""
    expires_in: int
    """The lifetime of the access token. Format: 3600 seconds."""
    refresh_token: SecretText
    """The token for the next refresh; it can be used once. Format: prefix, r_ and 43 base64url characters."""
    refresh_expires_in: int
    """The lifetime of the refresh token. Format: 2592000 seconds."""


class SessionsQuery(PageQuery, Filters, wire_name="sessions_query", source="CONTRACT 8"):
    """Whose sessions are listed: one's own, unless a person or everyone is named."""

    user_id: Annotated[Uuid | None, NO_CONDITION] = None
    """Only sessions of this person; by default one's own. Format: UUID, 36 characters."""
    everyone: Annotated[bool, NO_CONDITION] = False
    """Whether those of all people of the tenant are listed, instead of one person's. Format: true or false."""

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if self.everyone and self.user_id is not None:
            message = "Sessions are listed of everyone or of one person. Leave out `user_id` or `everyone`."
            raise PydanticCustomError("conflicting_names", message)
        return self


class SessionOut(Out, wire_name="session", source="CONTRACT 8"):
    """A session of a person that is open, from their login on; it is over 30 days after its last refresh."""

    id: Uuid
    """The session. Format: UUID, 36 characters."""
    user_id: Uuid
    """The person. Format: UUID, 36 characters."""
    created_at: Moment
    """When the person signed in. Format: RFC 3339 date-time, UTC, milliseconds."""
    last_used_at: Moment | None
    """When it was last used, within five minutes; null if it was not used since the login.
    Format: RFC 3339 date-time, UTC, milliseconds.
    """
    current: bool
    """Whether it is the session of this request. Format: true or false."""


class CredentialOut(Out, wire_name="me_credential", source="CONTRACT 3"):
    """The credential of this request; `service` is a lab in the service's own process, with its tenant's id."""

    type: Literal["api_key", "jwt", "service", "agent_session"]
    """Its kind. Format: api_key, jwt, agent_session, or service: a lab in the service's own process."""
    id: Uuid
    """The key; for a person or an agent the session. Format: UUID, 36 characters."""
    scopes: list[ScopeName]
    """Its current permissions. Format: scopes, see docs/access.md."""
    expires_at: Moment | None
    """From this moment on it is invalid; null if it does not expire. Format: RFC 3339 date-time, UTC, milliseconds."""


class MeOut(Out, source="CONTRACT 3"):
    """The user, API key or agent of this request; `email` is null for keys and agents."""

    id: Uuid
    """The person, the API key or the agent. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the caller. Format: UUID, 36 characters."""
    tenant_name: str
    """The tenant's name. Format: text, 1-200 characters."""
    org_id: Uuid | None
    """The organization they belong to; for keys and agents the tenant's first. Format: UUID, 36 characters."""
    email: str | None
    """Their e-mail address; null for keys and agents. Format: e-mail address, lower case."""
    name: str
    """The name of the person, the key or the agent. Format: text, at most 256 characters."""
    realm: RealmName
    """The kind of account. Format: tenant, consumer or platform."""
    roles: list[RoleName]
    """Their current roles in the tenant and on the platform; none for API keys, agents and consumers.
    Format: owner, admin, analyst, member, super_admin, content_admin, reviewer.
    """
    plan: PlanName
    """The tenant's plan. Format: FREE, STARTER, PROFESSIONAL or ENTERPRISE."""
    credential: CredentialOut
    """The credential of the request."""


class TokenKeysOut(Out, source="CONTRACT 3"):
    """The keys that sign access tokens, as a JSON Web Key Set (RFC 7517)."""

    keys: list[dict[str, object]]
    """The keys that sign access tokens. Format: JWK, RFC 7517."""
