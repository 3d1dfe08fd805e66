"""A small installation with facts of every type, of two tenants, and a lake with short parts."""

from __future__ import annotations

import pytest
from lake_world import World

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller


@pytest.fixture
def world(lab: Installation, caller: Caller, clock: FixedClock) -> World:
    """Two tenants at work, four numbers a part."""
    return World.of(lab, caller, clock)
