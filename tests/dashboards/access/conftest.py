"""A tenant with people and keys, in a lab in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab import Lab
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.dashboards.members import Members, gather_members


@pytest.fixture(scope="package")
def service(caches: None) -> Iterator[Lab]:
    """The lab of a service in which each test opens another tenant."""
    with attestlab.demo(history=False) as lab:
        yield lab


@pytest.fixture
def members(service: Lab, request: pytest.FixtureRequest) -> Members:
    """A new tenant with an owner, a member and a key."""
    installation: Installation = service._door.installation  # type: ignore[attr-defined]  # that of this process
    tenant = installation.orgs.create_tenant(request.node.name[:60], plan=Plan.PROFESSIONAL)
    return gather_members(service, installation, tenant)
