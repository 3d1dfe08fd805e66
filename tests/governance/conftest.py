"""The people who decide about issuers, of a tenant and of the platform, behind the application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from support.governance import GovernanceScenario, open_governance_scenario


@pytest.fixture
def governance(lab: Installation) -> Iterator[GovernanceScenario]:
    with open_governance_scenario(lab) as made:
        yield made
