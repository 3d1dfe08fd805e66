"""Fixtures: a served installation whose tenant has an owner who may sign in; tests advance the clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.identity import AuthClient
from support.in_process_server import make_client, serve_in_thread


@pytest.fixture
def auth_client(lab: Installation) -> Iterator[AuthClient]:
    """The real application over HTTP, on either database engine."""
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url) as client:
        yield AuthClient(client, tenant)
