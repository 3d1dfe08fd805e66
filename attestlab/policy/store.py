"""All queries of policies; columns are named, values are parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Executable, String, Uuid, and_, bindparam, func, or_, select

from attestlab.core.db.foreseen_reads import KeyRows
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, iterate, table_of
from attestlab.core.errors import NotFound
from attestlab.orgs.store import IS_ACTIVE, api_keys, tenants, users
from attestlab.policy.language.document import TargetType
from attestlab.policy.rules import PolicyStatus
from attestlab.policy.tables import (
    PolicyAttributes,
    PolicyAttributesRecord,
    PolicyDecision,
    PolicyDecisionRecord,
    PolicyVersion,
    PolicyVersionRecord,
    TenantPolicy,
    TenantPolicyRecord,
    VerificationProfile,
    VerificationProfileRecord,
)

policies = table_of(TenantPolicy)
versions = table_of(PolicyVersion)
attributes = table_of(PolicyAttributes)
profiles = table_of(VerificationProfile)
decisions = table_of(PolicyDecision)

_DOCUMENTS_PER_FETCH = 8
POLICIES_CHANGED = "policies.changed"  # key in a transaction's cache after it changed active policies or attributes


class PolicyVersionSummary(NamedTuple):
    """A version without its document, which may have a megabyte."""

    id: UUID
    policy_id: UUID
    version: int
    digest: str
    author: str
    created_at: datetime


class VersionDocument(NamedTuple):
    """The document of a version, with the type of its policy's target."""

    policy_id: UUID
    version: int
    document: str
    target_type: str


class ActiveVersion(NamedTuple):
    """A version that is active or in shadow; `own` are the tenant's own attributes as stored, None if it has none."""

    policy_id: UUID
    version: int
    digest: str
    document: str
    in_shadow: bool | None
    is_platform: bool
    own: str | None


class RecordedVersion(NamedTuple):
    """A version that a decision names."""

    policy_id: UUID
    version: int
    digest: str
    document: str
    is_platform: bool


_SUMMARY_COLUMNS = [versions.c[name] for name in PolicyVersionSummary._fields]


def get_policy(execute: Execute, policy_id: UUID, *, tenant_id: UUID) -> TenantPolicyRecord:
    """Return the tenant's policy with all columns.

    Raises:
        NotFound: the tenant has no such policy.
    """
    query = select(*policies.c).where(policies.c.id == policy_id, policies.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), TenantPolicyRecord)
    if row is None:
        raise NotFound("policy", policy_id)
    return row


def count_open(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's policies that are not archived."""
    mine = (policies.c.tenant_id == tenant_id, policies.c.status != PolicyStatus.ARCHIVED.value)
    return int(execute(select(func.count()).select_from(policies).where(*mine)).scalar_one())


def count_profiles(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's verification profiles."""
    return int(
        execute(select(func.count()).select_from(profiles).where(profiles.c.tenant_id == tenant_id)).scalar_one()
    )


def list_policies(
    connection: Connection, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[TenantPolicyRecord]:
    """Return a page of the tenant's policies, newest first."""
    query = select(*policies.c).where(policies.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(policies.c.id < before)
    return fetch_all(connection.execute(query.order_by(policies.c.id.desc()).limit(limit)), TenantPolicyRecord)


def get_version(execute: Execute, policy_id: UUID, number: int) -> PolicyVersionRecord:
    """Return one version of a policy.

    Raises:
        NotFound: the policy has no version with this number.
    """
    query = select(*versions.c).where(versions.c.policy_id == policy_id, versions.c.version == number)
    row = fetch_one(execute(query), PolicyVersionRecord)
    if row is None:
        raise NotFound("version of the policy", number)
    return row


def newest_versions(execute: Execute, policy_ids: Sequence[UUID]) -> dict[UUID, PolicyVersionSummary]:
    """Return the newest version of each policy by policy id, without documents."""
    newest = and_(policies.c.id == versions.c.policy_id, policies.c.version == versions.c.version)
    query = select(*_SUMMARY_COLUMNS).join(policies, newest).where(policies.c.id.in_(policy_ids))
    return {row.policy_id: row for row in iterate(execute(query), PolicyVersionSummary)}


def list_versions(
    connection: Connection, policy_id: UUID, *, before: int | None, limit: int
) -> list[PolicyVersionSummary]:
    """Return a page of a policy's versions, newest first, without documents."""
    query = select(*_SUMMARY_COLUMNS).where(versions.c.policy_id == policy_id)
    if before is not None:
        query = query.where(versions.c.version < before)
    return fetch_all(connection.execute(query.order_by(versions.c.version.desc()).limit(limit)), PolicyVersionSummary)


def max_document_length(execute: Execute, tenant_id: UUID) -> int:
    """Return the length in characters of the longest document that the tenant's queries may use; 0 if there is none."""
    readable = (policies.c.version, policies.c.active_version, policies.c.shadow_version)
    is_default = policies.c.target_type == TargetType.TENANT_DEFAULT.value
    is_platform = and_(tenants.c.is_operator, is_default)
    query = (
        select(func.max(func.length(versions.c.document)))
        .join(policies, and_(policies.c.id == versions.c.policy_id, versions.c.version.in_(readable)))
        .join(tenants, tenants.c.id == policies.c.tenant_id)
        .where(or_(policies.c.tenant_id == tenant_id, is_platform))
    )
    return int(execute(query).scalar() or 0)


def iterate_documents(execute: Execute, tenant_id: UUID) -> Iterator[VersionDocument]:
    """Yield the document of every version that the tenant wrote."""
    is_own = versions.c.policy_id == policies.c.id
    columns = (versions.c.policy_id, versions.c.version, versions.c.document, policies.c.target_type)
    query = select(*columns).join(policies, is_own).where(policies.c.tenant_id == tenant_id)
    return iterate(execute(query.execution_options(yield_per=_DOCUMENTS_PER_FETCH)), VersionDocument)


def count_versions(execute: Execute, tenant_id: UUID) -> int:
    """Count all versions that the tenant wrote."""
    is_own = versions.c.policy_id == policies.c.id
    mine = select(func.count()).select_from(versions).join(policies, is_own).where(policies.c.tenant_id == tenant_id)
    return int(execute(mine).scalar_one())


class PolicyPlace(NamedTuple):
    """Where policies apply: to an action of a tenant on a target."""

    tenant_id: UUID
    action: str
    target_type: str
    target_id: UUID | None


def _active_versions_query(
    place: Mapping[str, ColumnElement[object]], more: Collection[ColumnElement[object]] = ()
) -> Executable:
    is_default = policies.c.target_type == TargetType.TENANT_DEFAULT.value
    is_target = and_(policies.c.target_type == place["target_type"], policies.c.target_id == place["target_id"])
    is_platform = and_(tenants.c.is_operator, is_default)
    mine = and_(policies.c.tenant_id == place["tenant_id"], or_(is_default, is_target))
    in_shadow = versions.c.version == policies.c.shadow_version
    own = select(attributes.c.attributes).where(attributes.c.tenant_id == place["tenant_id"]).scalar_subquery()
    return (
        select(
            *(versions.c.policy_id, versions.c.version, versions.c.digest, versions.c.document),
            in_shadow.label("in_shadow"),
            is_platform.label("is_platform"),
            own.label("own"),
            *more,
        )
        .join(policies, policies.c.id == versions.c.policy_id)
        .join(tenants, tenants.c.id == policies.c.tenant_id)
        .where(policies.c.category == place["action"], or_(mine, is_platform))
        .where(or_(versions.c.version == policies.c.active_version, in_shadow))
        .order_by(is_platform.desc(), is_default.desc(), policies.c.id, versions.c.version)
    )


_places = KeyRows(tenant_id=Uuid(), action=String(), target_type=String(), target_id=Uuid())
# Built once, because they run again after every commit.
_ACTIVE_VERSIONS = _active_versions_query({name: bindparam(name) for name in PolicyPlace._fields})
_ACTIVE_VERSIONS_AT_ALL = _active_versions_query(_places.c, _places.c.values())
_OWN_ATTRIBUTES = select(*attributes.c).where(attributes.c.tenant_id == bindparam("tenant_id"))


def list_active_versions(execute: Execute, place: PolicyPlace) -> tuple[ActiveVersion, ...]:
    """Return the active and shadow versions that apply: the platform's, then the tenant's default, then the
    target's.

    The platform's policies are the defaults of the operator's tenant.
    """
    return tuple(iterate(execute(_ACTIVE_VERSIONS, place._asdict()), ActiveVersion))


def list_all_active_versions(
    execute: Execute, places: Collection[PolicyPlace]
) -> dict[PolicyPlace, tuple[ActiveVersion, ...]]:
    """Return those of several places, each as `list_active_versions` does, on PostgreSQL; leaves out empty ones."""
    found: defaultdict[PolicyPlace, tuple[ActiveVersion, ...]] = defaultdict(tuple)
    width = len(ActiveVersion._fields)
    for row in execute(_ACTIVE_VERSIONS_AT_ALL, _places.bind(places)):
        found[PolicyPlace._make(row[width:])] += (ActiveVersion._make(row[:width]),)
    return found


def get_member(execute: Execute, policy_id: UUID, number: int) -> RecordedVersion:
    """Return one version, even if it is not active any more.

    Raises:
        sqlalchemy.exc.NoResultFound: there is no such version.
    """
    is_platform = and_(tenants.c.is_operator, policies.c.target_type == TargetType.TENANT_DEFAULT.value)
    columns = (versions.c.policy_id, versions.c.version, versions.c.digest, versions.c.document)
    found = execute(
        select(*columns, is_platform.label("is_platform"))
        .join(policies, policies.c.id == versions.c.policy_id)
        .join(tenants, tenants.c.id == policies.c.tenant_id)
        .where(versions.c.policy_id == policy_id, versions.c.version == number)
    )
    return RecordedVersion._make(found.one())


def get_profile(execute: Execute, profile_id: UUID, *, tenant_id: UUID) -> VerificationProfileRecord:
    """Return the tenant's verification profile.

    Raises:
        NotFound: the tenant has none with this id; another tenant's profile counts as unknown.
    """
    query = select(*profiles.c).where(profiles.c.id == profile_id, profiles.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), VerificationProfileRecord)
    if row is None:
        raise NotFound("verification profile", profile_id)
    return row


def list_profiles(
    execute: Execute, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[VerificationProfileRecord]:
    """Return a page of the tenant's verification profiles, newest first."""
    query = select(*profiles.c).where(profiles.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(profiles.c.id < before)
    return fetch_all(execute(query.order_by(profiles.c.id.desc()).limit(limit)), VerificationProfileRecord)


def find_own_attributes(execute: Execute, tenant_id: UUID) -> PolicyAttributesRecord | None:
    """Return the tenant's own attributes, or None if it never had any."""
    return fetch_one(execute(_OWN_ATTRIBUTES, {"tenant_id": tenant_id}), PolicyAttributesRecord)


def is_operator(execute: Execute, tenant_id: UUID) -> bool:
    """Whether the tenant is the operator's own."""
    return bool(execute(select(tenants.c.is_operator).where(tenants.c.id == tenant_id)).scalar_one())


def list_active_roles(execute: Execute, tenant_id: UUID) -> list[str]:
    """Return the stored roles of each active user of a tenant."""
    return [row.roles for row in execute(select(users.c.roles).where(users.c.tenant_id == tenant_id, IS_ACTIVE))]


def find_person(execute: Execute, actor_id: str) -> str:
    """Return the creator of the API key that acted; the actor itself if it is not a key or its creator is unknown."""
    try:
        key_id = UUID(actor_id)
    except ValueError:
        return actor_id
    made_by = execute(select(api_keys.c.created_by).where(api_keys.c.id == key_id)).scalar()
    return actor_id if made_by is None else str(made_by)


def get_decision(connection: Connection, decision_id: str, *, tenant_id: UUID) -> PolicyDecisionRecord:
    """Return a decision of the tenant.

    Raises:
        NotFound: the tenant has no decision with this id.
    """
    query = select(*decisions.c).where(decisions.c.id == decision_id, decisions.c.tenant_id == tenant_id)
    row = fetch_one(connection.execute(query), PolicyDecisionRecord)
    if row is None:
        raise NotFound("policy decision", "of this id")
    return row
