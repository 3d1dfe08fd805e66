"""Which scopes imply others, and what keys keep that are older than the scopes of risk, policies and webhooks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attestlab import migrations
from attestlab.core.errors import PermissionDenied
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import CONSUMER_SCOPES, Caller, Scope
from attestlab.orgs.scope_rules import SPEC_SCOPES
from attestlab.orgs.service import TenantCreated
from support.earlier_records import undo_revisions_since
from support.orgs import PASSWORD, TenantClients, forget_group_scopes

OPEN_BEFORE = {
    "risk:read",
    "risk:write",
    "policies:read",
    "policies:write",
    "webhooks:read",
    "webhooks:write",
}


@pytest.fixture
def keeper(lab: Installation, tenant: TenantCreated) -> Caller:
    return lab.orgs.service_caller(tenant.tenant_id)


def scopes_of(lab: Installation, secret: str) -> set[str]:
    with lab.storage.read() as connection:
        return {*lab.orgs.authenticate(connection, secret).scopes}


def go_back_before_revision_25(lab: Installation) -> None:
    for tenant in lab.orgs.list_tenants(with_consumers=True):
        forget_group_scopes(lab, tenant.id)
    with lab.storage.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE api_keys DROP COLUMN has_group_scopes")
        undo_revisions_since(connection, 26)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0024'")


def test_a_key_has_the_scopes_it_names(lab: Installation, keeper: Caller) -> None:
    made = lab.api_keys.create("Reader", scopes={Scope.ATTESTATIONS_READ, Scope.RISK_READ}, caller=keeper)

    assert scopes_of(lab, made.secret) == {"attestations:read", "risk:read"}


def test_the_eight_scopes_of_the_specification_imply_the_others(lab: Installation, keeper: Caller) -> None:
    made = lab.api_keys.create("All", scopes=SPEC_SCOPES, caller=keeper)

    assert len(SPEC_SCOPES) == 8
    assert scopes_of(lab, made.secret) == set(Scope)


def test_implied_scopes_do_not_exceed_those_of_the_creator(lab: Installation, keeper: Caller) -> None:
    narrow = replace(keeper, scopes=SPEC_SCOPES)

    with pytest.raises(PermissionDenied) as refused:
        lab.api_keys.create("All", scopes=SPEC_SCOPES, caller=narrow)

    assert refused.value.details == {"required_scope": "risk:read"}


@pytest.mark.both_engines
def test_keys_that_exist_keep_what_they_could_do(lab: Installation, keeper: Caller, tenant: TenantCreated) -> None:
    consumer = lab.orgs.add_consumer("ada@consumers.example", PASSWORD, name="Ada")
    theirs = replace(keeper, tenant_id=consumer.tenant_id, actor_type="USER", actor_id=str(consumer.consumer_id))
    of_consumer = lab.api_keys.create_for_consumer("mine", caller=theirs).secret
    narrow = lab.api_keys.create("Narrow", scopes={Scope.ATTESTATIONS_READ}, caller=keeper).secret
    go_back_before_revision_25(lab)

    migrations.upgrade(lab.storage)

    new = lab.api_keys.create("New", scopes={Scope.ATTESTATIONS_READ}, caller=keeper).secret
    assert scopes_of(lab, narrow) == {"attestations:read", *OPEN_BEFORE}
    assert scopes_of(lab, tenant.api_key) == set(Scope)
    assert scopes_of(lab, of_consumer) == set(CONSUMER_SCOPES)
    assert scopes_of(lab, new) == {"attestations:read"}
    assert list(fsck(lab)) == []


def test_an_older_key_is_listed_with_what_it_may_do(tenant_clients: TenantClients, keeper: Caller) -> None:
    lab, tenant = tenant_clients.lab, tenant_clients.tenant
    old = lab.api_keys.create("Old", scopes={Scope.AUDIT_READ}, caller=keeper).row.id
    forget_group_scopes(lab, tenant.tenant_id)

    with tenant_clients.owner() as owner:
        listed = owner.get(f"/v1/api-keys/{old}").json()

    assert set(listed["scopes"]) == {"audit:read", *OPEN_BEFORE}
