"""A tenant with a tree of three agents, in a lab in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab import Lab
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.dashboards.fleets import Fleet, found_fleet


@pytest.fixture(scope="package")
def service(caches: None) -> Iterator[Lab]:
    """The lab of a service in which each test opens another tenant."""
    with attestlab.demo(history=False) as lab:
        yield lab


@pytest.fixture
def fleet(service: Lab, request: pytest.FixtureRequest) -> Fleet:
    """A new tenant with a tree of three agents."""
    installation: Installation = service._door.installation  # type: ignore[attr-defined]  # that of this process
    tenant = installation.orgs.create_tenant(request.node.name[:60], plan=Plan.PROFESSIONAL)
    return found_fleet(service, installation, tenant)
