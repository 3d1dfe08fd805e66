"""The rows of this capability."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel


class Tenant(SQLModel, table=True):
    """Who the service works for; everything else belongs to one."""

    __tablename__ = "tenants"

    id: UUID = Field(primary_key=True)
    name: str = Field(max_length=200)
    plan: str = Field(max_length=16)
    is_operator: bool
    created_at: datetime


class Org(SQLModel, table=True):
    """An organization of a tenant."""

    __tablename__ = "orgs"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    name: str = Field(max_length=200)
    slug: str = Field(max_length=48, unique=True)
    status: str = Field(max_length=16)
    created_at: datetime


class User(SQLModel, table=True):
    """A person; `password_hash` is argon2id, `roles` are separated by spaces."""

    __tablename__ = "users"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    org_id: UUID = Field(foreign_key="orgs.id")
    email: str = Field(max_length=254, unique=True)
    name: str = Field(max_length=200)
    password_hash: str = Field(max_length=200)
    roles: str = Field(max_length=200)
    created_at: datetime


class ApiKey(SQLModel, table=True):
    """A tenant's key; only the SHA-256 of the secret is kept. `scopes` are separated by spaces."""

    __tablename__ = "api_keys"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id", index=True)
    name: str = Field(max_length=200)
    prefix: str = Field(max_length=32)
    secret_sha256: bytes = Field(unique=True, sa_type=LargeBinary)
    environment: str = Field(max_length=4)
    scopes: str = Field(max_length=400)
    status: str = Field(max_length=8)
    created_at: datetime
