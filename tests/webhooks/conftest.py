"""Fixtures: a tenant whose plan allows a few endpoints, behind real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    """A new tenant, served by the real application."""
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, lab.orgs.create_tenant("Example Registry", plan=Plan.PROFESSIONAL))
