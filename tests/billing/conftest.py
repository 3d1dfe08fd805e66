"""Fixtures: a FREE tenant in the middle of a month, in process and behind real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import TenantCreated
from support.billing import MIDDLE
from support.in_process_server import make_client, serve_in_thread
from support.orgs import TenantClients


@pytest.fixture
def tenant(lab: Installation, clock: FixedClock) -> TenantCreated:
    """A new tenant that may send any number of requests; half of the month is left."""
    clock.advance(MIDDLE - clock.now())
    made = lab.orgs.create_tenant("Example Registry", plan=Plan.FREE)
    lab.orgs.set_plan(made.tenant_id, Plan.FREE, {"requests_per_minute": None})
    return made


@pytest.fixture
def payer(lab: Installation, tenant: TenantCreated) -> Caller:
    """The tenant as a caller in process."""
    return lab.orgs.service_caller(tenant.tenant_id)


@pytest.fixture
def clients(lab: Installation, tenant: TenantCreated) -> Iterator[TenantClients]:
    """The tenant, served by the real application."""
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def client(clients: TenantClients) -> Iterator[httpx.Client]:
    """A client with the tenant's key, which has every scope."""
    with make_client(clients.url, key=clients.tenant.api_key) as client:
        yield client
