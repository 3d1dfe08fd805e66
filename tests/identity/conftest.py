"""Fixtures: a served installation whose tenant has an owner who may sign in; tests advance the clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_in_process import client_of, served
from sign_in_story import Door

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan


@pytest.fixture
def door(lab: Installation) -> Iterator[Door]:
    """The real application over HTTP, on either database engine."""
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with served(lab) as url, client_of(url) as client:
        yield Door(client, tenant)
