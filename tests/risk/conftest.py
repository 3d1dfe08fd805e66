"""A served tenant whose key records signals."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from attestlab.installation import Installation
from support.orgs import TenantClients
from support.risk import open_risk_tenant


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    with open_risk_tenant(lab) as clients:
        yield clients


@pytest.fixture
def key(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    with tenant_clients.with_key() as client:
        yield client
