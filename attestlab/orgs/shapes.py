"""Wire models of keys, organizations and people (SPEC, API key; CONTRACT sections 3 and 11)."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field, StringConstraints

from attestlab.core.crypto.passwords import MAX_BYTES
from attestlab.core.shapes import In, Moment, Out, SecretText, Uuid, omit_default, one_of
from attestlab.orgs.rules import ConsumerScope, Environment, OrgStatus, Role, Scope

ScopeName = Annotated[str, one_of([*Scope, *ConsumerScope])]
RoleName = Annotated[str, one_of(Role)]
OrgStatusName = Annotated[str, one_of(OrgStatus)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
Email = Annotated[str, StringConstraints(min_length=3, max_length=254), Field(json_schema_extra={"format": "email"})]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2048)]


class ApiKeyIn(In):
    """A key to create; its scopes are a subset of the creator's."""

    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    environment: Environment = Environment.LIVE


class ConsumerKeyIn(In):
    """A consumer's key to create; scopes and lifetime are fixed."""

    name: Name


class RevokeApiKeyIn(In):
    """Why a key is revoked."""

    reason: Reason | None = None


class CompromiseIn(In):
    """The reason why a key is considered compromised."""

    reason: Reason


class ApiKeyOut(Out):
    """An API key, without its secret."""

    id: Uuid
    name: str
    prefix: str
    scopes: list[ScopeName]
    environment: Literal["live", "dev"]
    status: Literal["ACTIVE", "REVOKED", "EXPIRED"]
    created_at: Moment
    created_by: Uuid | None
    expires_at: Moment | None
    revoked_at: Moment | None
    revocation_reason: str | None
    compromised_at: Moment | None


class ApiKeyMadeOut(ApiKeyOut):
    """A new API key; only this response contains its secret."""

    secret: SecretText


class OrgIn(In):
    """An organization to create; without a slug, one is derived from the name."""

    name: Name
    slug: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = None


class OrgChanges(TypedDict, total=False):
    """The fields of an organization to change."""

    name: str
    return_origins: list[str]


class OrgPatch(In):
    """Changes of an organization; omitted fields are unchanged."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    return_origins: list[Text] = Field(
        default=[],
        json_schema_extra=omit_default,
        description="https://host[:port] to which people may be redirected",
    )

    def changes(self) -> OrgChanges:
        """Return the fields that were sent."""
        changes: OrgChanges = {}
        if "name" in self.model_fields_set:
            changes["name"] = self.name
        if "return_origins" in self.model_fields_set:
            changes["return_origins"] = self.return_origins
        return changes


class OrgOut(Out):
    """An organization of the tenant."""

    id: Uuid
    tenant_id: Uuid
    name: str
    slug: str
    status: OrgStatusName
    return_origins: list[str]
    created_at: Moment
    updated_at: Moment | None


class UserIn(In):
    """A person to invite."""

    email: Email
    role: Role
    name: Name | None = None


class UserPatch(In):
    """A new role for a person."""

    role: Role


class JoinIn(In):
    """An invitation's token, and the password that its recipient chooses."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    password: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BYTES)]
    name: Name | None = None


class UserOut(Out):
    """A person of the tenant; of a removed person only an id remains."""

    id: Uuid
    tenant_id: Uuid
    org_id: Uuid
    email: str
    name: str
    roles: list[RoleName]
    status: Literal["ACTIVE", "INVITED", "REMOVED"]
    created_at: Moment
    invited_until: Moment | None
    joined_at: Moment | None
    removed_at: Moment | None
