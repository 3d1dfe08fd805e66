"""What the stories of issuers begin with: another tenant, and one cheap installation for questions about keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from attestlab.core.clock import SystemClock
from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.issuers.service import IssuerWithKeys
from attestlab.orgs.rules import Caller, Plan
from attestlab.settings import Settings
from support.issuers import RegisterIssuer


@pytest.fixture
def stranger(lab: Installation) -> Caller:
    """A caller of another tenant, with every scope there."""
    return lab.orgs.service_caller(lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE).tenant_id)


@pytest.fixture
def register(lab: Installation, caller: Caller) -> RegisterIssuer:
    """Register an issuer, by default a valid one of the operator's tenant, without a key."""

    def registered(
        *, by: Caller = caller, alg: Any = None, kid: str | None = None, tx: Transaction | None = None, **profile: str
    ) -> IssuerWithKeys:
        whole = {"name": "Registry", "domain": "r.example", **profile}
        return lab.issuers.create(whole, caller=by, alg=alg, kid=kid, tx=tx)

    return registered


@pytest.fixture(scope="module")
def keysmith(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Caller]]:
    """One installation on SQLite for all questions of a file, and who asks them."""
    lab, made = Installation.init(Settings(data=tmp_path_factory.mktemp("keysmith")), clock=SystemClock())
    yield lab, lab.orgs.service_caller(made.tenant.tenant_id)
    lab.close()
