"""Queries for tenants, organizations, people and keys; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Collection, Container
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Table, bindparam, func, or_, select

from attestlab.core.db.tables import Execute, Record, fetch_all, fetch_one, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.core.errors import NotFound
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import ApiKeyStatus, Realm
from attestlab.orgs.tables import (
    ApiKey,
    ApiKeyRecord,
    CredentialUse,
    Org,
    OrgRecord,
    Tenant,
    TenantRecord,
    User,
    UserRecord,
)

tenants = table_of(Tenant)
orgs = table_of(Org)
users = table_of(User)
api_keys = table_of(ApiKey)
uses = table_of(CredentialUse)
KEEP_USES: Final = Upsert(uses, key=("credential_id",), change=lambda new: {"last_used_at": new.last_used_at})

# Whether a person may sign in and act (`role_rules.is_active` of a column), and whether they were not removed.
IS_ACTIVE: Final = or_(users.c.status.is_(None), users.c.status == UserStatus.ACTIVE.value)
IS_THERE: Final = or_(users.c.status.is_(None), users.c.status != UserStatus.REMOVED.value)

ADDRESSES_CHANGED: Final = "orgs.addresses_changed"  # in a transaction's memo once a person got or lost an address

_OWNED: dict[type[NamedTuple], tuple[Table, str]] = {
    OrgRecord: (orgs, "organization"),
    UserRecord: (users, "user"),
    ApiKeyRecord: (api_keys, "API key"),
}
_BY_SECRET = (
    select(
        api_keys.c.id,
        api_keys.c.tenant_id,
        api_keys.c.scopes,
        api_keys.c.has_group_scopes,
        api_keys.c.status,
        api_keys.c.environment,
        api_keys.c.expires_at,
        tenants.c.plan,
        tenants.c.adjusted,
        tenants.c.realm,
        tenants.c.addons,
    )
    .join(tenants, tenants.c.id == api_keys.c.tenant_id)
    .where(api_keys.c.secret_sha256 == bindparam("secret_sha256"))
)


@short_repr
class KeyWithTenant(NamedTuple):
    """An API key with the columns of its tenant that a request needs."""

    id: UUID
    tenant_id: UUID
    scopes: str
    has_group_scopes: bool | None
    status: str
    environment: str
    expires_at: datetime | None
    plan: str
    adjusted: str | None
    realm: str | None
    addons: str | None


def find_key_by_secret(connection: Connection, secret_sha256: bytes) -> KeyWithTenant | None:
    """Return the key whose secret has this SHA-256, with the needed columns of its tenant."""
    return fetch_one(connection.execute(_BY_SECRET, {"secret_sha256": secret_sha256}), KeyWithTenant)


def get_tenant(execute: Execute, tenant_id: UUID) -> TenantRecord:
    """Return a tenant.

    Raises:
        NotFound: there is no such tenant.
    """
    row = fetch_one(execute(select(*tenants.c).where(tenants.c.id == tenant_id)), TenantRecord)
    if row is None:
        raise NotFound("tenant", tenant_id)
    return row


def get_owned(execute: Execute, kind: type[Record], row_id: UUID, *, tenant_id: UUID) -> Record:
    """Return a tenant's own organization, user or API key; a row of another tenant counts as missing.

    Raises:
        NotFound: the tenant has no such row.
    """
    table, kind_name = _OWNED[kind]
    query = select(*table.c).where(table.c.id == row_id, table.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), kind)
    if row is None:
        raise NotFound(kind_name, row_id)
    return row


def list_page(
    connection: Connection, kind: type[Record], *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[Record]:
    """List the tenant's rows of a kind, newest first, after `before`."""
    table, _ = _OWNED[kind]
    query = select(*table.c).where(table.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(table.c.id < before)
    return fetch_all(connection.execute(query.order_by(table.c.id.desc()).limit(limit)), kind)


def count_active_keys(tx: Transaction, tenant_id: UUID, now: datetime) -> int:
    """Count the active, unexpired keys of a tenant."""
    is_unexpired = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    mine = (api_keys.c.tenant_id == tenant_id, api_keys.c.status == ApiKeyStatus.ACTIVE.value)
    count: int = tx.exec(select(func.count()).select_from(api_keys).where(*mine, is_unexpired)).scalar_one()
    return count


def list_keys(execute: Execute, tenant_id: UUID) -> list[ApiKeyRecord]:
    """List all keys of a tenant, oldest first, also revoked ones."""
    query = select(*api_keys.c).where(api_keys.c.tenant_id == tenant_id).order_by(api_keys.c.id)
    return fetch_all(execute(query), ApiKeyRecord)


def find_uses_of_actors(execute: Execute, actor_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Find when keys or people last used a credential; those that never did are left out."""
    query = select(uses.c.actor_id, func.max(uses.c.last_used_at)).where(uses.c.actor_id.in_(actor_ids))
    return {row[0]: row[1] for row in execute(query.group_by(uses.c.actor_id))}


def find_uses(execute: Execute, credential_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Find when keys or sessions were last used; those that never were are left out."""
    query = select(uses.c.credential_id, uses.c.last_used_at).where(uses.c.credential_id.in_(credential_ids))
    return {row[0]: row[1] for row in execute(query)}


def find_user_by_address(execute: Execute, address: str) -> UserRecord | None:
    """Return the person with this e-mail address in any tenant."""
    return fetch_one(execute(select(*users.c).where(users.c.email == address)), UserRecord)


def find_invitation(execute: Execute, address: str, *, tenant_id: UUID) -> UserRecord | None:
    """Return a tenant's invitation of an address, also one that lapsed or that no one can accept."""
    query = select(*users.c).where(users.c.tenant_id == tenant_id, users.c.invited_address == address)
    return fetch_one(execute(query), UserRecord)


def list_lapsed(execute: Execute, now: datetime, *, limit: int) -> list[UserRecord]:
    """List invitations that lapsed and hold their address, the longest lapsed first."""
    lapsed = (users.c.invited_until <= now, users.c.invited_address.is_(None))
    query = select(*users.c).where(*lapsed).order_by(users.c.invited_until).limit(limit)
    return fetch_all(execute(query), UserRecord)


def find_user_by_invitation(execute: Execute, token_sha256: bytes) -> UserRecord | None:
    """Return the person whose latest, unused invitation token has this SHA-256."""
    return fetch_one(execute(select(*users.c).where(users.c.invitation_sha256 == token_sha256)), UserRecord)


def list_roles_of_others(tx: Transaction, user: UserRecord) -> set[str]:
    """List all roles of the other active people in the same tenant."""
    others = (users.c.tenant_id == user.tenant_id, users.c.id != user.id, IS_ACTIVE)
    return {
        role for roles in tx.exec(select(users.c.roles).where(*others).distinct()).scalars() for role in roles.split()
    }


def list_addresses(execute: Execute, tenant_id: UUID, *, roles: Container[str]) -> list[str]:
    """List the e-mail addresses of a tenant's active people with one of these roles."""
    people = select(users.c.email, users.c.roles).where(users.c.tenant_id == tenant_id, IS_ACTIVE).order_by(users.c.id)
    return [email for email, held in execute(people) if any(role in roles for role in held.split())]


def get_first_org(execute: Execute, tenant_id: UUID) -> UUID:
    """Return the organization that was created with the tenant."""
    oldest = select(orgs.c.id).where(orgs.c.tenant_id == tenant_id).order_by(orgs.c.created_at, orgs.c.id).limit(1)
    org_id: UUID = execute(oldest).scalar_one()
    return org_id


def list_slugs_like(tx: Transaction, slug: str) -> set[str]:
    """List the taken slugs that equal this one or begin with it and a hyphen."""
    alike = (orgs.c.slug == slug) | orgs.c.slug.startswith(f"{slug}-", autoescape=True)
    return set(tx.exec(select(orgs.c.slug).where(alike)).scalars())


def has_operator(tx: Transaction) -> bool:
    """Whether the operator's tenant exists."""
    return tx.exec(select(tenants.c.id).where(tenants.c.is_operator)).first() is not None


def get_operator_id(tx: Transaction) -> UUID:
    """Return the operator's tenant, which every installation has."""
    only = select(tenants.c.id).where(tenants.c.is_operator).limit(1)  # the scan ends with the row that `init` wrote
    tenant_id: UUID = tx.exec(only).scalar_one()
    return tenant_id


def get_operator(execute: Execute) -> TenantRecord:
    """Return the operator's tenant, which every installation has."""
    return TenantRecord._make(execute(select(*tenants.c).where(tenants.c.is_operator)).one())


def list_tenants(execute: Execute, *, with_consumers: bool) -> list[TenantRecord]:
    """List all tenants, oldest first; those of consumers only if asked for."""
    query = select(*tenants.c).order_by(tenants.c.id)
    if not with_consumers:
        query = query.where(func.coalesce(tenants.c.realm, Realm.TENANT.value) != Realm.CONSUMER.value)
    return fetch_all(execute(query), TenantRecord)


def find_tenant_by_name(execute: Execute, name: str) -> UUID:
    """Return the tenant of this name, compared without regard to case.

    Raises:
        NotFound: there is none, or there are several.
    """
    found = list(execute(select(tenants.c.id).where(func.lower(tenants.c.name) == name.lower())).scalars())
    if len(found) != 1:
        raise NotFound("tenant", f"{name[:80]!r}; {len(found) or 'none'} of that name, pass the id")
    tenant_id: UUID = found[0]
    return tenant_id
