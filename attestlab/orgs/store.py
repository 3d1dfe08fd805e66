"""Queries for tenants, organizations, people and keys; columns are named, values are parameters."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, func, or_, select

from attestlab.core.db.tables import Execute, table_of
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.errors import NotFound
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import ApiKeyStatus
from attestlab.orgs.tables import ApiKey, Org, Tenant, User

tenants = table_of(Tenant)
orgs = table_of(Org)
users = table_of(User)
api_keys = table_of(ApiKey)


_KINDS = {"orgs": "organization", "users": "user", "api_keys": "API key"}
_BY_SECRET = (
    select(
        api_keys.c.id,
        api_keys.c.tenant_id,
        api_keys.c.scopes,
        api_keys.c.status,
        api_keys.c.environment,
        api_keys.c.expires_at,
        tenants.c.plan,
        tenants.c.adjusted,
        tenants.c.realm,
    )
    .join(tenants, tenants.c.id == api_keys.c.tenant_id)
    .where(api_keys.c.secret_sha256 == bindparam("secret_sha256"))
)


def find_key_by_secret(connection: Connection, secret_sha256: bytes) -> AnyRow | None:
    """Returns the key whose secret has this SHA-256, with the needed columns of its tenant."""
    return connection.execute(_BY_SECRET, {"secret_sha256": secret_sha256}).first()


def get_tenant(execute: Execute, tenant_id: UUID) -> dict[str, Any]:
    """Returns all columns of a tenant.

    Raises:
        NotFound: there is no such tenant.
    """
    row = execute(select(*tenants.c).where(tenants.c.id == tenant_id)).mappings().first()
    if row is None:
        raise NotFound("tenant", tenant_id)
    return dict(row)


def get_owned(execute: Execute, table: Any, row_id: UUID, *, tenant_id: UUID) -> dict[str, Any]:
    """Returns all columns of a tenant's own row; a row of another tenant counts as missing.

    Raises:
        NotFound: the tenant has no such row.
    """
    query = select(*table.c).where(table.c.id == row_id, table.c.tenant_id == tenant_id)
    row = execute(query).mappings().first()
    if row is None:
        raise NotFound(_KINDS[table.name], row_id)
    return dict(row)


def list_page(
    connection: Connection, table: Any, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[dict[str, Any]]:
    """Lists the tenant's rows of a table, newest first, after `before`."""
    query = select(*table.c).where(table.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(table.c.id < before)
    return [dict(row) for row in connection.execute(query.order_by(table.c.id.desc()).limit(limit)).mappings()]


def count_active_keys(tx: Transaction, tenant_id: UUID, now: datetime) -> int:
    """Counts the active, unexpired keys of a tenant."""
    is_unexpired = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    mine = (api_keys.c.tenant_id == tenant_id, api_keys.c.status == ApiKeyStatus.ACTIVE.value)
    count: int = tx.exec(select(func.count()).select_from(api_keys).where(*mine, is_unexpired)).scalar_one()
    return count


def find_user_by_address(execute: Execute, address: str) -> dict[str, Any] | None:
    """Returns the person with this e-mail address in any tenant."""
    row = execute(select(*users.c).where(users.c.email == address)).mappings().first()
    return None if row is None else dict(row)


def find_user_by_invitation(execute: Execute, token_sha256: bytes) -> dict[str, Any] | None:
    """Returns the person whose latest, unused invitation token has this SHA-256."""
    row = execute(select(*users.c).where(users.c.invitation_sha256 == token_sha256)).mappings().first()
    return None if row is None else dict(row)


def list_roles_of_others(tx: Transaction, user: dict[str, Any]) -> set[str]:
    """Lists all roles of the other active people in the same tenant."""
    is_active = or_(users.c.status.is_(None), users.c.status == UserStatus.ACTIVE.value)
    others = (users.c.tenant_id == user["tenant_id"], users.c.id != user["id"], is_active)
    return {
        role for roles in tx.exec(select(users.c.roles).where(*others).distinct()).scalars() for role in roles.split()
    }


def get_first_org(execute: Execute, tenant_id: UUID) -> UUID:
    """Returns the organization that was created with the tenant."""
    oldest = select(orgs.c.id).where(orgs.c.tenant_id == tenant_id).order_by(orgs.c.created_at, orgs.c.id).limit(1)
    org_id: UUID = execute(oldest).scalar_one()
    return org_id


def list_slugs_like(tx: Transaction, slug: str) -> set[str]:
    """Lists the taken slugs that equal this one or begin with it and a hyphen."""
    alike = (orgs.c.slug == slug) | orgs.c.slug.startswith(f"{slug}-", autoescape=True)
    return set(tx.exec(select(orgs.c.slug).where(alike)).scalars())


def has_operator(tx: Transaction) -> bool:
    """Whether the operator's tenant exists."""
    return tx.exec(select(tenants.c.id).where(tenants.c.is_operator)).first() is not None


def get_operator_id(tx: Transaction) -> UUID:
    """Returns the operator's tenant, which every installation has."""
    tenant_id: UUID = tx.exec(select(tenants.c.id).where(tenants.c.is_operator)).scalar_one()
    return tenant_id
