"""Wire models of keys, organizations and people (SPEC, API key; CONTRACT sections 3 and 11)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.core.crypto.passwords import MAX_BYTES
from attestlab.core.shapes import In, Moment, Name, Out, ReasonText, SecretText, Text, Uuid, omit_default, one_of
from attestlab.orgs.rules import ConsumerScope, Environment, OrgStatus, Role, Scope

ScopeName = Annotated[str, one_of([*Scope, *ConsumerScope])]
RoleName = Annotated[str, one_of(Role)]
OrgStatusName = Annotated[str, one_of(OrgStatus)]
InvitedEmail = Annotated[
    str, StringConstraints(min_length=3, max_length=254), Field(json_schema_extra={"format": "email"})
]


class ApiKeyIn(In, source="CONTRACT 3"):
    """A key to create; its scopes are a subset of the creator's."""

    name: Name
    """Its name, by which people recognise it. Format: text, 1-200 characters."""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    """Its permissions, at most those of its creator. Format: scopes, see docs/access.md."""
    environment: Environment = Environment.LIVE
    """Production refuses dev. Format: live or dev."""


class ConsumerKeyIn(In, source="CONTRACT 3"):
    """A consumer's key to create; scopes and lifetime are fixed."""

    name: Name
    """Its name, by which its owner recognises it. Format: text, 1-200 characters."""


class RevokeApiKeyIn(In, wire_name="api_key_revocation_input", source="CONTRACT 3"):
    """Why a key is revoked."""

    reason: ReasonText | None = None
    """Why it is revoked. Format: text, 1-1024 characters."""


class CompromiseIn(In, wire_name="api_key_compromise_input", source="CONTRACT 3"):
    """The reason why a key is considered compromised."""

    reason: ReasonText
    """Why it is considered compromised. Format: text, 1-1024 characters."""


class ApiKeyOut(Out, source="SPEC API key"):
    """An API key, without its secret."""

    id: Uuid
    """The key. Format: UUID, 36 characters."""
    name: str
    """Its name, given by its owner. Format: text, 1-200 characters."""
    prefix: str
    """Its visible beginning, by which people recognise it. Format: prefix, environment and six characters."""
    scopes: list[ScopeName]
    """Its permissions. Format: scopes, see docs/access.md."""
    environment: Literal["live", "dev"]
    """Production refuses dev. Format: live or dev. Source: CONTRACT 3."""
    status: Literal["ACTIVE", "REVOKED", "EXPIRED"]
    """Only an active key works; the others are final. Format: ACTIVE, REVOKED or EXPIRED."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_by: Uuid | None
    """The person who created it; null if it was created on the command line. Format: UUID, 36 characters.
    Source: CONTRACT 3.
    """
    expires_at: Moment | None
    """From this moment on it is EXPIRED; null if it does not expire. Format: RFC 3339 date-time, UTC, milliseconds.
    Source: CONTRACT 3.
    """
    revoked_at: Moment | None
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 3."""
    revocation_reason: str | None
    """Why it was revoked. Format: text, 1-1024 characters. Source: CONTRACT 3."""
    compromised_at: Moment | None
    """When it was flagged as compromised. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 3."""
    last_used_at: Moment | None
    """When it was last used, within five minutes; null if it never was.
    Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 8.
    """


class ApiKeyMadeOut(ApiKeyOut, source="SPEC API key"):
    """A new API key; only this response contains its secret."""

    secret: SecretText
    """The whole key; only this response contains it. Format: prefix, environment and 32 base62 characters."""


class OrgIn(In, source="CONTRACT 11"):
    """An organization to create; without a slug, one is derived from the name."""

    name: Name
    """Its name. Format: text, 1-200 characters."""
    slug: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = None
    """Its part of an address; by default derived from the name. Format: a-z, 0-9 and hyphens, at most 40."""


class OrgPatch(In, source="CONTRACT 11"):
    """Changes of an organization; omitted fields are unchanged."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    """Its new name. Format: text, 1-200 characters."""
    return_origins: list[Text] = Field(
        default=[],
        json_schema_extra=omit_default,
        description="https://host[:port] to which people may be redirected",
    )
    """The addresses to which people may be redirected; replaces the list. Format: https://host[:port]."""


class OrgOut(Out, source="CONTRACT 11"):
    """An organization of the tenant."""

    id: Uuid
    """The organization. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the organization. Format: UUID, 36 characters."""
    name: str
    """Its name. Format: text, 1-200 characters."""
    slug: str
    """Its part of an address; unique in the installation. Format: a-z, 0-9 and hyphens, at most 48."""
    status: OrgStatusName
    """Its status. Format: ACTIVE."""
    return_origins: list[str]
    """The addresses to which people may be redirected back. Format: https://host[:port]."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment | None
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds."""


class UserIn(In, source="CONTRACT 11"):
    """A person to invite."""

    email: InvitedEmail
    """Where the invitation goes. Format: e-mail address."""
    role: Role
    """Their role; platform roles in the operator's tenant only.
    Format: owner, admin, analyst, member, super_admin, content_admin, reviewer.
    """
    name: Name | None = None
    """Their name. Format: text, 1-200 characters."""


class UserPatch(In, source="CONTRACT 11"):
    """A new role for a person."""

    role: Role
    """Their role from now on. Format: owner, admin, analyst, member, super_admin, content_admin, reviewer."""


class JoinIn(In, wire_name="invitation_input", source="CONTRACT 11"):
    """An invitation's token, and the password that its recipient chooses."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    """The token in the link of the invitation. Format: base64url, 43 characters."""
    password: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]
    """The password that the person chooses. Format: text, at least 12 characters."""
    name: Name | None = None
    """Their name, where the invitation has none or another. Format: text, 1-200 characters."""


class UserOut(Out, source="CONTRACT 11"):
    """A person of the tenant; of a removed person only an id remains."""

    id: Uuid
    """The person. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the person. Format: UUID, 36 characters."""
    org_id: Uuid
    """The organization they belong to. Format: UUID, 36 characters."""
    email: str
    """Their e-mail address; a placeholder after they are removed. Format: e-mail address, lower case."""
    name: str
    """Their name; empty until it is given. Format: text, at most 200 characters."""
    roles: list[RoleName]
    """Their roles in the tenant and on the platform.
    Format: owner, admin, analyst, member, super_admin, content_admin, reviewer. Source: CONTRACT 3.
    """
    status: Literal["ACTIVE", "INVITED", "REMOVED"]
    """Whether they may sign in. Format: ACTIVE, INVITED or REMOVED."""
    created_at: Moment
    """When they were first invited. Format: RFC 3339 date-time, UTC, milliseconds."""
    invited_until: Moment | None
    """Until when their invitation is valid. Format: RFC 3339 date-time, UTC, milliseconds."""
    joined_at: Moment | None
    """When they accepted it. Format: RFC 3339 date-time, UTC, milliseconds."""
    removed_at: Moment | None
    """When they were removed. Format: RFC 3339 date-time, UTC, milliseconds."""
    last_used_at: Moment | None
    """When they last used the service, within five minutes; null if they never did.
    Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 8.
    """
