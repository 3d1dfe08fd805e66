"""The service for API keys, for cases that HTTP cannot reach: fewer scopes, another stage, a failing job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attestlab.core.errors import NotFound, PermissionDenied, ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.api_keys import ApiKeys
from attestlab.orgs.rules import Caller, Environment, Scope
from attestlab.orgs.service import TenantCreated
from attestlab.settings import Settings, Stage
from support.outbox import read_events_of_type


@pytest.fixture
def keeper(lab: Installation, tenant: TenantCreated) -> Caller:
    return lab.orgs.service_caller(tenant.tenant_id)


def test_a_key_may_do_no_more_than_its_creator(lab: Installation, keeper: Caller) -> None:
    reader = replace(keeper, scopes=frozenset({Scope.ISSUERS_READ, Scope.AUDIT_READ}))

    with pytest.raises(PermissionDenied) as refused:
        lab.api_keys.create("More", scopes={Scope.ISSUERS_READ, Scope.ISSUERS_WRITE}, caller=reader)

    assert refused.value.details == {"required_scope": "issuers:write"}
    assert lab.api_keys.create("As much", scopes=set(reader.scopes), caller=reader).row.scopes.split() == [  # type: ignore[arg-type]
        "issuers:read",
        "audit:read",
    ]


def test_production_creates_live_keys_only(lab: Installation, keeper: Caller, tmp_path: Path) -> None:
    production = ApiKeys(storage=lab.storage, clock=lab.clock, settings=Settings(data=tmp_path, env=Stage.PRODUCTION))

    with pytest.raises(ValidationFailed) as refused:
        production.create("Try", scopes={Scope.ISSUERS_READ}, environment=Environment.DEV, caller=keeper)

    assert refused.value.fields[0].field == "/environment"
    assert production.create("Real", scopes={Scope.ISSUERS_READ}, caller=keeper).secret.startswith("al_live_")


def test_a_secret_is_in_no_representation(lab: Installation, keeper: Caller) -> None:
    made = lab.api_keys.create("Quiet", scopes={Scope.ISSUERS_READ}, caller=keeper)

    assert made.secret not in repr(made)


def test_a_failed_revocation_changes_nothing(lab: Installation, keeper: Caller) -> None:
    key = lab.api_keys.create("Kept", scopes={Scope.ISSUERS_READ}, caller=keeper)

    with pytest.raises(RuntimeError, match="changed its mind"), lab.storage.write() as tx:
        lab.api_keys.compromise(key.row.id, reason="no", caller=keeper, tx=tx)
        raise RuntimeError("the caller changed its mind")

    assert lab.api_keys.get(key.row.id, caller=keeper).status == "ACTIVE"
    assert read_events_of_type(lab, "security.api_key_compromised") == []


def test_another_tenants_key_is_unknown(lab: Installation, keeper: Caller, caller: Caller) -> None:
    key = lab.api_keys.create("Ours", scopes={Scope.ISSUERS_READ}, caller=keeper).row.id

    for attempt in (
        lambda: lab.api_keys.get(key, caller=caller),
        lambda: lab.api_keys.revoke(key, reason=None, caller=caller),
        lambda: lab.api_keys.compromise(key, reason="no", caller=caller),
    ):
        with pytest.raises(NotFound):
            attempt()
