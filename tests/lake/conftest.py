"""A small installation with facts of every type, of two tenants, and a lake with short parts; also a served tenant."""

from __future__ import annotations

import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from support.lake import LakeScenario
from support.risk import key, tenant_clients

__all__ = ["key", "lake_scenario", "tenant_clients"]


@pytest.fixture
def lake_scenario(lab: Installation, caller: Caller, clock: FixedClock) -> LakeScenario:
    """Two tenants at work, four numbers a part."""
    return LakeScenario.of(lab, caller, clock)
