"""Fixtures: a tenant besides the operator's, in process and behind real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients


@pytest.fixture
def tenant(lab: Installation) -> TenantCreated:
    """A new tenant, as the command line creates it."""
    return lab.orgs.create_tenant("Example Registry", plan=Plan.STARTER)


@pytest.fixture
def tenant_clients(lab: Installation, tenant: TenantCreated) -> Iterator[TenantClients]:
    """The tenant, served by the real application."""
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)
