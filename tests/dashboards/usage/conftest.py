"""Tenants with a past of usage, in one lab in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

import pytest

import attestlab
from attestlab import Lab
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.dashboards.payers import OpenPayer, Payer

_NUMBERS: Final = count(1)


@pytest.fixture(scope="package")
def service(caches: None) -> Iterator[Lab]:
    """The lab of a service in which each test opens another tenant."""
    with attestlab.demo(history=False) as lab:
        yield lab


@pytest.fixture(scope="package")
def open_payer(service: Lab) -> OpenPayer:
    installation: Installation = service._door.installation  # type: ignore[attr-defined]  # that of this process

    def open_one(plan: Plan = Plan.STARTER, **limits: int) -> Payer:
        tenant = installation.orgs.create_tenant(f"Payer {next(_NUMBERS)}", plan=plan)
        if limits:
            installation.billing.set_plan(tenant.tenant_id, plan, limits)
        return Payer(installation, tenant, service.as_(tenant.tenant_id))

    return open_one
