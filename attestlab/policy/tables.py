"""The tables of policies; every row is audited."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class TenantPolicy(SQLModel, table=True):
    """A policy of a tenant: its target, and its active versions.

    `version` is the newest, `active_version` the enforced one, `shadow_version` the one that is only observed.
    """

    __tablename__ = "policies"
    __table_args__ = (Index("ix_policies_of_tenant", "tenant_id", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    name: str = Field(max_length=128)
    category: str = Field(max_length=16)
    target_type: str = Field(max_length=24)
    target_id: UUID | None = None
    status: str = Field(max_length=8)
    version: int
    active_version: int | None = None
    shadow_version: int | None = None
    created_at: datetime
    updated_at: datetime


@short_repr
class TenantPolicyRecord(NamedTuple):
    """A row of `policies`."""

    id: UUID
    tenant_id: UUID
    name: str
    category: str
    target_type: str
    target_id: UUID | None
    status: str
    version: int
    active_version: int | None
    shadow_version: int | None
    created_at: datetime
    updated_at: datetime


class PolicyVersion(SQLModel, table=True):
    """One version of a policy, never changed: canonical JSON, its SHA-256 (hex), its author."""

    __tablename__ = "policy_versions"
    __table_args__ = (Index("ix_policy_versions_of_policy", "policy_id", "version", unique=True),)

    id: UUID = Field(primary_key=True)
    policy_id: UUID = Field(foreign_key="policies.id")
    version: int
    digest: str = Field(max_length=64)
    document: str = Field(sa_type=Text)
    author: str = Field(max_length=64)
    created_at: datetime


@short_repr
class PolicyVersionRecord(NamedTuple):
    """A row of `policy_versions`."""

    id: UUID
    policy_id: UUID
    version: int
    digest: str
    document: str
    author: str
    created_at: datetime


class PolicyAttributes(SQLModel, table=True):
    """The tenant's own attributes, which its policies may use in addition to the platform's: a JSON array."""

    __tablename__ = "policy_attributes"

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    attributes: str = Field(sa_type=Text)
    updated_at: datetime


@short_repr
class PolicyAttributesRecord(NamedTuple):
    """A row of `policy_attributes`."""

    tenant_id: UUID
    attributes: str
    updated_at: datetime


class VerificationProfile(SQLModel, table=True):
    """A verification profile: a tenant's conditions on attestations of any issuer, to which policies are bound by
    its id.
    """

    __tablename__ = "verification_profiles"
    __table_args__ = (Index("ix_verification_profiles_of_tenant", "tenant_id", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    name: str = Field(max_length=200)
    description: str | None = Field(default=None, max_length=2048)
    created_at: datetime


@short_repr
class VerificationProfileRecord(NamedTuple):
    """A row of `verification_profiles`."""

    id: UUID
    tenant_id: UUID
    name: str
    description: str | None
    created_at: datetime


class PolicyDecision(SQLModel, table=True):
    """A decision, never changed, with everything needed to reproduce it.

    `input` is the canonical JSON of action, target and typed context, `input_sha256` (hex) its hash; `members` is the
    JSON array of `[policy id, version, in shadow]` that `policy_set_digest` covers.
    """

    __tablename__ = "policy_decisions"

    id: str = Field(primary_key=True, max_length=30)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    created_at: datetime
    action: str = Field(max_length=16)
    target_type: str = Field(max_length=24)
    target_id: UUID | None = None
    input: str = Field(sa_type=Text)
    input_sha256: str = Field(max_length=64)
    diagnostics: str = Field(sa_type=Text)
    policy_set_digest: str = Field(max_length=64)
    members: str = Field(sa_type=Text)
    allowed: bool
    matched_rules: str = Field(sa_type=Text)


@short_repr
class PolicyDecisionRecord(NamedTuple):
    """A row of `policy_decisions`."""

    id: str
    tenant_id: UUID
    created_at: datetime
    action: str
    target_type: str
    target_id: UUID | None
    input: str
    input_sha256: str
    diagnostics: str
    policy_set_digest: str
    members: str
    allowed: bool
    matched_rules: str
