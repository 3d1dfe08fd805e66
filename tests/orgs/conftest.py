"""A tenant like any other, beside the operator's own."""

from __future__ import annotations

import pytest

from attestlab.lab import Lab
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated


@pytest.fixture
def tenant(lab: Lab) -> TenantCreated:
    """Made on the command line a moment ago."""
    return lab.orgs.create_tenant("Example Registry", plan=Plan.STARTER)
