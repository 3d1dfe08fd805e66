"""A served lab with a tenant, and a browser without a script."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from attestlab.installation import Installation
from support.billing_portal import serve_tenant
from support.orgs import TenantClients


@pytest.fixture
def clients(lab: Installation) -> Iterator[TenantClients]:
    with serve_tenant(lab) as clients:
        yield clients


@pytest.fixture
def visitor(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.anonymous() as client:
        client.headers["Accept"] = "text/html,*/*;q=0.8"
        yield client
