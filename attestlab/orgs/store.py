"""Every query about tenants, people and keys; columns are named, values are parameters."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, select

from attestlab.core.transaction import AnyRow, Transaction
from attestlab.orgs.tables import ApiKey, Org, Tenant, User

tenants: Any = Tenant.__table__  # type: ignore[attr-defined]  # SQLModel sets it on every table class
orgs: Any = Org.__table__  # type: ignore[attr-defined]
users: Any = User.__table__  # type: ignore[attr-defined]
api_keys: Any = ApiKey.__table__  # type: ignore[attr-defined]

_BY_SECRET = (
    select(
        api_keys.c.id,
        api_keys.c.tenant_id,
        api_keys.c.scopes,
        api_keys.c.status,
        api_keys.c.environment,
        tenants.c.plan,
    )
    .join(tenants, tenants.c.id == api_keys.c.tenant_id)
    .where(api_keys.c.secret_sha256 == bindparam("secret_sha256"))
)


def key_by_secret(connection: Connection, secret_sha256: bytes) -> AnyRow | None:
    """The key whose secret has this SHA-256, with its tenant's plan."""
    return connection.execute(_BY_SECRET, {"secret_sha256": secret_sha256}).first()


def tenant(connection: Connection, tenant_id: UUID) -> AnyRow | None:
    """A tenant's row."""
    return connection.execute(select(*tenants.c).where(tenants.c.id == tenant_id)).first()


def slugs_like(tx: Transaction, slug: str) -> set[str]:
    """Every taken slug that is this one, or begins with it and a hyphen."""
    alike = (orgs.c.slug == slug) | orgs.c.slug.startswith(f"{slug}-", autoescape=True)
    return set(tx.exec(select(orgs.c.slug).where(alike)).scalars())


def has_operator(tx: Transaction) -> bool:
    """Whether the operator's own tenant is there."""
    return tx.exec(select(tenants.c.id).where(tenants.c.is_operator)).first() is not None


def operator_id(tx: Transaction) -> UUID:
    """The operator's own tenant, which every installation has."""
    found: UUID = tx.exec(select(tenants.c.id).where(tenants.c.is_operator)).scalar_one()
    return found
