"""Authentication by API key: a valid key gives its caller, every invalid key the same error."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import select, update

from attestlab.core.errors import AuthInvalid
from attestlab.core.records import audit
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.row_digest import METADATA_KEY, row_sha256
from attestlab.installation import Installation
from attestlab.orgs import store
from attestlab.orgs.rules import Caller, Environment, Scope, compose_api_key
from attestlab.orgs.service import Orgs, TenantCreated
from attestlab.settings import Settings, Stage
from support.statements import statements_of

NEVER_ISSUED = compose_api_key("al", Environment.LIVE, "A" * 26)


def authenticate(lab: Installation, secret: str) -> Caller:
    with lab.storage.read() as connection:
        return lab.orgs.authenticate(connection, secret)


def change_key(lab: Installation, tenant: TenantCreated, **values: object) -> None:
    """Changes the row of a tenant's only key with an audit entry, as a service method would."""
    actor, now = lab.orgs.service_caller(tenant.tenant_id), lab.clock.now()
    with lab.storage.write() as tx:
        mine = store.api_keys.c.tenant_id == tenant.tenant_id
        tx.exec(update(store.api_keys).where(mine).values(**values))
        row = dict(tx.exec(select(store.api_keys).where(mine)).one()._mapping)
        trail = {METADATA_KEY: row_sha256(store.api_keys, row)}
        entry = AuditEntry(actor.tenant_id, actor, "api_key.change", "api_key", str(row["id"]), now, metadata=trail)
        audit.record(tx, entry)


def as_dev_key(lab: Installation, tenant: TenantCreated) -> str:
    secret = compose_api_key("al", Environment.DEV, "B" * 26)
    change_key(lab, tenant, environment="dev", secret_sha256=hashlib.sha256(secret.encode()).digest())
    return secret


def test_a_key_names_its_tenant_scopes_and_plan(lab: Installation, tenant: TenantCreated) -> None:
    caller = authenticate(lab, tenant.api_key)

    assert (caller.tenant_id, caller.actor_type, caller.plan) == (tenant.tenant_id, "API_KEY", "STARTER")
    assert caller.scopes == frozenset(Scope)
    assert tenant.api_key not in repr(caller)


def test_a_key_has_only_the_scopes_it_was_given(lab: Installation, tenant: TenantCreated) -> None:
    change_key(lab, tenant, scopes="issuers:read audit:read")

    assert authenticate(lab, tenant.api_key).scopes == {Scope.ISSUERS_READ, Scope.AUDIT_READ}


def test_every_wrong_key_gets_the_same_error(lab: Installation, tenant: TenantCreated) -> None:
    """Unknown, mistyped, malformed, revoked: the errors are indistinguishable."""
    mistyped = tenant.api_key[:-1] + ("0" if tenant.api_key[-1] != "0" else "1")
    change_key(lab, tenant, status="REVOKED")

    answers = []
    for wrong in (NEVER_ISSUED, mistyped, "", "al_live_short", tenant.api_key):
        with pytest.raises(AuthInvalid) as refused:
            authenticate(lab, wrong)
        answers.append((refused.value.code, refused.value.message, refused.value.details))

    assert answers == [answers[0]] * 5


def test_a_mistyped_key_causes_no_query(lab: Installation, tenant: TenantCreated) -> None:
    mistyped = tenant.api_key[:20] + ("x" if tenant.api_key[20] != "x" else "y") + tenant.api_key[21:]

    with statements_of(lab) as sent, pytest.raises(AuthInvalid):
        authenticate(lab, mistyped)

    assert sent == []


def test_a_valid_key_costs_one_query(lab: Installation, tenant: TenantCreated) -> None:
    with statements_of(lab) as sent:
        authenticate(lab, tenant.api_key)

    [statement] = sent
    assert "secret_sha256 =" in statement


def test_a_revoked_key_stops_working_immediately(lab: Installation, tenant: TenantCreated) -> None:
    authenticate(lab, tenant.api_key)
    change_key(lab, tenant, status="REVOKED")

    with pytest.raises(AuthInvalid):
        authenticate(lab, tenant.api_key)


def test_a_dev_key_works_in_the_sandbox_and_not_in_production(
    lab: Installation, tenant: TenantCreated, tmp_path: Path
) -> None:
    secret = as_dev_key(lab, tenant)
    production = Orgs(
        storage=lab.storage,
        clock=lab.clock,
        settings=Settings(data=tmp_path, env=Stage.PRODUCTION),
        on_account_opened=lab.deliveries.deliver_waiting,
    )

    assert authenticate(lab, secret).tenant_id == tenant.tenant_id
    with lab.storage.read() as connection, pytest.raises(AuthInvalid):
        production.authenticate(connection, secret)


def test_a_live_key_works_in_production(lab: Installation, tenant: TenantCreated, tmp_path: Path) -> None:
    production = Orgs(
        storage=lab.storage,
        clock=lab.clock,
        settings=Settings(data=tmp_path, env=Stage.PRODUCTION),
        on_account_opened=lab.deliveries.deliver_waiting,
    )

    with lab.storage.read() as connection:
        assert production.authenticate(connection, tenant.api_key).tenant_id == tenant.tenant_id


def test_a_key_with_another_prefix_is_rejected(lab: Installation, tenant: TenantCreated, tmp_path: Path) -> None:
    elsewhere = Orgs(
        storage=lab.storage,
        clock=lab.clock,
        settings=Settings(data=tmp_path, key_prefix="zz"),
        on_account_opened=lab.deliveries.deliver_waiting,
    )

    with lab.storage.read() as connection, pytest.raises(AuthInvalid):
        elsewhere.authenticate(connection, tenant.api_key)
