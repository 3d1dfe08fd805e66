"""A real lab in this process for issuer governance: the demo's documents, and a story of trust."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import attestlab
from attestlab import Lab
from attestlab_dashboards.issuers import instant
from support import governance_story


@pytest.fixture(scope="package")
def caches(caches: None) -> Iterator[None]:
    """The demo's cache, and the time of the page as that of the lab, whose clock stands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instant, "read_own_clock", lambda: datetime(2000, 1, 1, tzinfo=UTC))
        yield


@pytest.fixture(scope="package")
def service(caches: None) -> Iterator[Lab]:
    """The lab of the service itself after the story; tests only read."""
    with attestlab.demo(history=False) as lab:
        governance_story.tell(lab)
        yield lab


@pytest.fixture(scope="package")
def ann(service: Lab) -> Lab:
    """The lab of the owner; tests only read."""
    return governance_story.sign_in(service, "ann")


@pytest.fixture
def own_service(caches: None) -> Iterator[Lab]:
    """A lab that a test may change, without the story."""
    with attestlab.demo(history=False) as lab:
        yield lab
