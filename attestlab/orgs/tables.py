"""Tables of tenants, organizations, people and API keys.

A column that a later revision adds to an audited table is nullable and marked `since`, so that the digests of rows
that were audited before remain valid.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr

SINCE_0003 = {"info": {"since": "0003"}}
SINCE_0025 = {"info": {"since": "0025"}}


class Tenant(SQLModel, table=True):
    """A customer of the service; all other data belongs to a tenant.

    `adjusted` is a JSON object of the limits that the operator set for this tenant only. A consumer has a tenant of
    their own, which `realm` marks.
    """

    __tablename__ = "tenants"

    id: UUID = Field(primary_key=True)
    name: str = Field(max_length=200)
    plan: str = Field(max_length=16)
    is_operator: bool
    created_at: datetime
    adjusted: str | None = Field(default=None, max_length=400, sa_column_kwargs=SINCE_0003)
    realm: str | None = Field(default=None, max_length=8, sa_column_kwargs=SINCE_0003)


@short_repr
class TenantRecord(NamedTuple):
    """A row of `tenants`."""

    id: UUID
    name: str
    plan: str
    is_operator: bool
    created_at: datetime
    adjusted: str | None = None
    realm: str | None = None


class Org(SQLModel, table=True):
    """An organization of a tenant; `return_origins` is a JSON array."""

    __tablename__ = "orgs"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    name: str = Field(max_length=200)
    slug: str = Field(max_length=48, unique=True)
    status: str = Field(max_length=16)
    created_at: datetime
    updated_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    return_origins: str | None = Field(default=None, max_length=4096, sa_column_kwargs=SINCE_0003)


@short_repr
class OrgRecord(NamedTuple):
    """A row of `orgs`."""

    id: UUID
    tenant_id: UUID
    name: str
    slug: str
    status: str
    created_at: datetime
    updated_at: datetime | None = None
    return_origins: str | None = None


class User(SQLModel, table=True):
    """A person; `password_hash` is argon2id, `roles` are separated by spaces.

    Without a `status` they are ACTIVE. An INVITED person has no password yet, and of the mailed token only the SHA-256
    is stored. Of a REMOVED person only an id remains.
    """

    __tablename__ = "users"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    org_id: UUID = Field(foreign_key="orgs.id")
    email: str = Field(max_length=254, unique=True)
    name: str = Field(max_length=200)
    password_hash: str = Field(max_length=200, repr=False)
    roles: str = Field(max_length=200)
    created_at: datetime
    status: str | None = Field(default=None, max_length=8, sa_column_kwargs=SINCE_0003)
    invitation_sha256: bytes | None = Field(
        default=None, index=True, unique=True, sa_type=LargeBinary, sa_column_kwargs=SINCE_0003
    )
    invited_until: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    joined_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    removed_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    password_changed_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)


@short_repr
class UserRecord(NamedTuple):
    """A row of `users`."""

    id: UUID
    tenant_id: UUID
    org_id: UUID
    email: str
    name: str
    password_hash: str
    roles: str
    created_at: datetime
    status: str | None = None
    invitation_sha256: bytes | None = None
    invited_until: datetime | None = None
    joined_at: datetime | None = None
    removed_at: datetime | None = None
    password_changed_at: datetime | None = None


class ApiKey(SQLModel, table=True):
    """A tenant's key; only the SHA-256 of the secret is stored.

    `scopes` are separated by spaces. `has_group_scopes` is null for a key that is older than the scopes of risk,
    policies and webhooks: it has them all.
    """

    __tablename__ = "api_keys"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    name: str = Field(max_length=200)
    prefix: str = Field(max_length=32)
    secret_sha256: bytes = Field(unique=True, sa_type=LargeBinary, repr=False)
    environment: str = Field(max_length=4)
    scopes: str = Field(max_length=400)
    status: str = Field(max_length=8)
    created_at: datetime
    created_by: UUID | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    expires_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    revoked_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    revocation_reason: str | None = Field(default=None, max_length=1024, sa_column_kwargs=SINCE_0003)
    compromised_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0003)
    has_group_scopes: bool | None = Field(default=None, sa_column_kwargs=SINCE_0025)


@short_repr
class ApiKeyRecord(NamedTuple):
    """A row of `api_keys`."""

    id: UUID
    tenant_id: UUID
    name: str
    prefix: str
    secret_sha256: bytes
    environment: str
    scopes: str
    status: str
    created_at: datetime
    created_by: UUID | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revocation_reason: str | None = None
    compromised_at: datetime | None = None
    has_group_scopes: bool | None = None
