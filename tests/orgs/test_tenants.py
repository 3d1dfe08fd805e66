"""Tenants: created complete in one transaction, without storing a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.records.audit import AuditEvent
from attestlab.core.records.integrity import find_unaudited
from attestlab.installation import Installation
from attestlab.orgs import store
from attestlab.orgs.rules import Plan, Scope
from attestlab.orgs.service import TenantCreated


def rows(lab: Installation, table: Any, tenant: TenantCreated) -> list[Any]:
    column = table.c.id if table is store.tenants else table.c.tenant_id
    with lab.storage.read() as connection:
        return list(connection.execute(select(table).where(column == tenant.tenant_id)))


def test_a_tenant_has_an_org_an_owner_and_a_live_key_with_every_scope(lab: Installation, tenant: TenantCreated) -> None:
    [row], [org], [owner], [key] = (
        rows(lab, table, tenant) for table in (store.tenants, store.orgs, store.users, store.api_keys)
    )

    assert (row.name, row.plan, row.is_operator) == ("Example Registry", "STARTER", False)
    assert (org.id, org.slug, org.status) == (tenant.org_id, "example-registry", "ACTIVE")
    assert (owner.email, owner.roles) == (tenant.owner_email, "owner")
    assert (key.environment, key.status, set(key.scopes.split())) == ("live", "ACTIVE", set(Scope))
    assert {row.created_at, org.created_at, owner.created_at, key.created_at} == {lab.clock.now()}


def test_the_owners_password_is_stored_as_argon2id_only(lab: Installation, tenant: TenantCreated) -> None:
    [owner] = rows(lab, store.users, tenant)

    assert owner.password_hash.startswith("$argon2id$")
    assert PasswordHasher().verify(owner.password_hash, tenant.owner_password)
    assert len(tenant.owner_password) >= 20


def test_only_the_operators_owner_is_super_admin(lab: Installation, tenant: TenantCreated) -> None:
    with lab.storage.read() as connection:
        roles = set(connection.scalars(select(store.users.c.roles)))
        operators = list(connection.scalars(select(store.tenants.c.plan).where(store.tenants.c.is_operator)))

    assert roles == {"owner", "owner super_admin"}
    assert operators == ["ENTERPRISE"]


def test_there_is_one_operator(lab: Installation) -> None:
    with pytest.raises(Conflict):
        lab.orgs.create_tenant("Another operator", plan=Plan.ENTERPRISE, operator=True)


def test_every_row_of_a_tenant_is_in_its_audit_trail(lab: Installation, tenant: TenantCreated) -> None:
    kinds = {"tenant": store.tenants, "org": store.orgs, "user": store.users, "api_key": store.api_keys}
    with lab.storage.read() as connection:
        trail = select(AuditEvent.action).where(AuditEvent.tenant_id == tenant.tenant_id)
        actions = set(connection.scalars(trail))
        faults = [
            fault
            for kind, table in kinds.items()
            for fault in find_unaudited(connection, table, resource_type=kind, name=lambda row: str(row["id"]))
        ]

    assert actions == {f"{kind}.create" for kind in kinds}
    assert faults == []


def test_similar_names_get_distinct_slugs(lab: Installation) -> None:
    """Whatever numbers are taken, the next free one is found."""
    names = ["Acme 3", "Acme", "Acme", "ACME!", "Äcme", "株式会社", "有限会社"]

    slugs = [rows(lab, store.orgs, lab.orgs.create_tenant(name, plan=Plan.FREE))[0].slug for name in names]

    assert slugs == ["acme-3", "acme", "acme-2", "acme-4", "acme-5", "tenant", "tenant-2"]


def test_an_invalid_tenant_name_creates_nothing(lab: Installation) -> None:
    with pytest.raises(ValidationFailed) as refused:
        lab.orgs.create_tenant("two\nlines", plan=Plan.FREE)

    assert refused.value.fields[0].field == "/name"


def test_a_tenant_that_fails_half_way_leaves_nothing(lab: Installation) -> None:
    with pytest.raises(RuntimeError, match="changed its mind"), lab.storage.write() as tx:
        lab.orgs.create_tenant("Never", plan=Plan.FREE, tx=tx)
        raise RuntimeError("the caller changed its mind")

    with lab.storage.read() as connection:
        for table in (store.tenants, store.orgs):
            assert "Never" not in set(connection.scalars(select(table.c.name)))


def test_no_secret_is_in_the_database_file(lab: Installation, tenant: TenantCreated, tmp_path: Path) -> None:
    """Neither the key nor the password, nor the random part of the key."""
    if not lab.storage.is_sqlite:
        pytest.skip("PostgreSQL keeps its files to itself; the rows are the same")
    stored = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())

    secrets = [tenant.api_key, tenant.api_key.rpartition("_")[2], tenant.owner_password]
    assert tenant.owner_email.encode() in stored
    assert [secret for secret in secrets if secret.encode() in stored] == []


def test_the_service_acts_only_for_existing_tenants(lab: Installation, tenant: TenantCreated) -> None:
    caller = lab.orgs.service_caller(tenant.tenant_id)

    assert (caller.actor_type, caller.plan, caller.scopes) == ("SERVICE", "STARTER", frozenset(Scope))
    with pytest.raises(NotFound):
        lab.orgs.service_caller(tenant.org_id)
