"""A tenant like any other, beside the operator's own; and the same behind real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_in_process import served
from team_story import Team

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated


@pytest.fixture
def tenant(lab: Installation) -> TenantCreated:
    """Made on the command line a moment ago."""
    return lab.orgs.create_tenant("Example Registry", plan=Plan.STARTER)


@pytest.fixture
def team(lab: Installation, tenant: TenantCreated) -> Iterator[Team]:
    """The tenant in front of the true application."""
    with served(lab) as url:
        yield Team(lab, url, tenant)
