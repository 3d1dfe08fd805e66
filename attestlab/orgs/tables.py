"""Tables of tenants, organizations, people and API keys.

A column that a later revision adds to an audited table is nullable and marked `since`, so that the digests of rows
that were audited before remain valid.
"""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr

SINCE_0003 = {"info": {"since": "0003"}}
SINCE_0025 = {"info": {"since": "0025"}}
SINCE_0034 = {"info": {"since": "0034"}}
SINCE_0038 = {"info": {"since": "0038"}}
_HAS_ADDRESS = "invited_until IS NOT NULL AND invited_address IS NULL"


@short_repr
class TenantRecord(NamedTuple):
    """A customer of the service; all other data belongs to a tenant.

    `adjusted` is a JSON object of the limits that the operator set for this tenant only, and `addons` one of the
    quantities of its add-ons. A consumer has a tenant of their own, which `realm` marks.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    name: Annotated[str, Field(max_length=200)]
    plan: Annotated[str, Field(max_length=16)]
    is_operator: bool
    created_at: datetime
    adjusted: Annotated[str | None, Field(max_length=400, sa_column_kwargs=SINCE_0003)] = None
    realm: Annotated[str | None, Field(max_length=8, sa_column_kwargs=SINCE_0003)] = None
    addons: Annotated[str | None, Field(max_length=400, sa_column_kwargs=SINCE_0034)] = None


Tenant = model_of(TenantRecord, "tenants")


@short_repr
class OrgRecord(NamedTuple):
    """An organization of a tenant; `return_origins` is a JSON array."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id", index=True)]
    name: Annotated[str, Field(max_length=200)]
    slug: Annotated[str, Field(max_length=48, unique=True)]
    status: Annotated[str, Field(max_length=16)]
    created_at: datetime
    updated_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    return_origins: Annotated[str | None, Field(max_length=4096, sa_column_kwargs=SINCE_0003)] = None


Org = model_of(OrgRecord, "orgs")


@short_repr
class UserRecord(NamedTuple):
    """A person; `password_hash` is argon2id, `roles` are separated by spaces.

    Without a `status` they are ACTIVE. An INVITED person has no password yet, and of the mailed token only the SHA-256
    is stored; there is none if an account elsewhere had the address. Of a REMOVED person only an id remains.
    An invitation holds no address: it stands in `invited_address`, and `email` is a placeholder, so that an account
    can be opened with it. Those of earlier releases have the address as their `email` until they lapse.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id", index=True)]
    org_id: Annotated[UUID, Field(foreign_key="orgs.id")]
    email: Annotated[str, Field(max_length=254, unique=True)]
    name: Annotated[str, Field(max_length=200)]
    password_hash: Annotated[str, Field(max_length=200, repr=False)]
    roles: Annotated[str, Field(max_length=200)]
    created_at: datetime
    status: Annotated[str | None, Field(max_length=8, sa_column_kwargs=SINCE_0003)] = None
    invitation_sha256: Annotated[bytes | None, Field(index=True, unique=True, sa_column_kwargs=SINCE_0003)] = None
    invited_until: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    joined_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    removed_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    password_changed_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    invited_address: Annotated[str | None, Field(max_length=254, sa_column_kwargs=SINCE_0038)] = None


User = model_of(
    UserRecord,
    "users",
    Index("ix_users_invited", "invited_until", sqlite_where=text(_HAS_ADDRESS)),
    Index("ix_users_invited_address", "invited_address", sqlite_where=text("invited_address IS NOT NULL")),
)


@short_repr
class ApiKeyRecord(NamedTuple):
    """A tenant's key; only the SHA-256 of the secret is stored.

    `scopes` are separated by spaces. `has_group_scopes` is null for a key that is older than the scopes of risk,
    policies and webhooks: it has them all.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id", index=True)]
    name: Annotated[str, Field(max_length=200)]
    prefix: Annotated[str, Field(max_length=32)]
    secret_sha256: Annotated[bytes, Field(unique=True, repr=False)]
    environment: Annotated[str, Field(max_length=4)]
    scopes: Annotated[str, Field(max_length=400)]
    status: Annotated[str, Field(max_length=8)]
    created_at: datetime
    created_by: Annotated[UUID | None, Field(sa_column_kwargs=SINCE_0003)] = None
    expires_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    revoked_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    revocation_reason: Annotated[str | None, Field(max_length=1024, sa_column_kwargs=SINCE_0003)] = None
    compromised_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0003)] = None
    has_group_scopes: Annotated[bool | None, Field(sa_column_kwargs=SINCE_0025)] = None


ApiKey = model_of(ApiKeyRecord, "api_keys")


@short_repr
class CredentialUseRecord(NamedTuple):
    """When an API key or a person's session was last used, within some minutes; a lost row loses only this.

    `actor_id` is the key itself, or the person whose session it is.
    """

    credential_id: Annotated[UUID, Field(primary_key=True)]
    actor_id: UUID
    last_used_at: datetime


CredentialUse = model_of(
    CredentialUseRecord, "credential_uses", Index("ix_credential_uses_of_actor", "actor_id", "last_used_at")
)
