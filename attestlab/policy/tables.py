"""The tables of policies; every row is audited."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class TenantPolicyRecord(NamedTuple):
    """A policy of a tenant: its target, and its active versions.

    `version` is the newest, `active_version` the enforced one, `shadow_version` the one that is only observed.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    name: Annotated[str, Field(max_length=128)]
    category: Annotated[str, Field(max_length=16)]
    target_type: Annotated[str, Field(max_length=24)]
    target_id: UUID | None
    status: Annotated[str, Field(max_length=8)]
    version: int
    active_version: int | None
    shadow_version: int | None
    created_at: datetime
    updated_at: datetime


TenantPolicy = model_of(TenantPolicyRecord, "policies", Index("ix_policies_of_tenant", "tenant_id", "id"))


@short_repr
class PolicyVersionRecord(NamedTuple):
    """One version of a policy, never changed: canonical JSON, its SHA-256 (hex), its author."""

    id: Annotated[UUID, Field(primary_key=True)]
    policy_id: Annotated[UUID, Field(foreign_key="policies.id")]
    version: int
    digest: Annotated[str, Field(max_length=64)]
    document: Annotated[str, Field(sa_type=Text)]
    author: Annotated[str, Field(max_length=64)]
    created_at: datetime


PolicyVersion = model_of(
    PolicyVersionRecord, "policy_versions", Index("ix_policy_versions_of_policy", "policy_id", "version", unique=True)
)


@short_repr
class PolicyAttributesRecord(NamedTuple):
    """The tenant's own attributes, which its policies may use in addition to the platform's: a JSON array."""

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    attributes: Annotated[str, Field(sa_type=Text)]
    updated_at: datetime


PolicyAttributes = model_of(PolicyAttributesRecord, "policy_attributes")


@short_repr
class VerificationProfileRecord(NamedTuple):
    """A verification profile: a tenant's conditions on attestations of any issuer, to which policies are bound by
    its id.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    name: Annotated[str, Field(max_length=200)]
    description: Annotated[str | None, Field(max_length=2048)]
    created_at: datetime


VerificationProfile = model_of(
    VerificationProfileRecord, "verification_profiles", Index("ix_verification_profiles_of_tenant", "tenant_id", "id")
)


@short_repr
class PolicyDecisionRecord(NamedTuple):
    """A decision, never changed, with everything needed to reproduce it.

    `input` is the canonical JSON of action, target and typed context, `input_sha256` (hex) its hash; `members` is the
    JSON array of `[policy id, version, in shadow]` that `policy_set_digest` covers.
    """

    id: Annotated[str, Field(primary_key=True, max_length=30)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    created_at: datetime
    action: Annotated[str, Field(max_length=16)]
    target_type: Annotated[str, Field(max_length=24)]
    target_id: UUID | None
    input: Annotated[str, Field(sa_type=Text)]
    input_sha256: Annotated[str, Field(max_length=64)]
    diagnostics: Annotated[str, Field(sa_type=Text)]
    policy_set_digest: Annotated[str, Field(max_length=64)]
    members: Annotated[str, Field(sa_type=Text)]
    allowed: bool
    matched_rules: Annotated[str, Field(sa_type=Text)]


PolicyDecision = model_of(
    PolicyDecisionRecord, "policy_decisions", Index("ix_policy_decisions_of_tenant", "tenant_id", "id")
)
