"""A tenant with agents."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients


@pytest.fixture
def clients(lab: Installation) -> Iterator[TenantClients]:
    """A served installation with a tenant of its plan without limits."""
    tenant = lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def client(clients: TenantClients) -> Iterator[httpx.Client]:
    """A key of the tenant with every scope."""
    with clients.with_key() as made:
        yield made


@pytest.fixture
def keeper(clients: TenantClients) -> Caller:
    """The service as a caller of the tenant, for what has no route."""
    return clients.lab.orgs.service_caller(clients.tenant.tenant_id)
