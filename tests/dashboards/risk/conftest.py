"""A real lab in this process for the risk explorer: the demo's documents, and a story of risk signals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab import Lab
from support import risk_story


@pytest.fixture(scope="package")
def story_lab(caches: None) -> Iterator[Lab]:
    """A lab that tests only read."""
    with attestlab.demo(history=False) as lab:
        risk_story.tell(lab)
        yield lab


@pytest.fixture
def own_lab(caches: None) -> Iterator[Lab]:
    """A lab that a test may change."""
    with attestlab.demo(history=False) as lab:
        risk_story.tell(lab)
        yield lab
