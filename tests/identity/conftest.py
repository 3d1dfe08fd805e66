"""A served installation with a tenant whose owner may sign in; the clock moves only when told to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_in_process import client_of, served
from sign_in_story import Door

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan


@pytest.fixture
def door(lab: Installation) -> Iterator[Door]:
    """The true application over HTTP, on either engine."""
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with served(lab) as url, client_of(url) as client:
        yield Door(client, tenant)
