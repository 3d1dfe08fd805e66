"""A real lab in this process for the log inspector: the demo's documents, and a hundred attestations more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab import Lab
from support.log_inspector import mint


@pytest.fixture(scope="package")
def demo_lab(caches: None) -> Iterator[Lab]:
    """A lab that tests only read."""
    with attestlab.demo(history=False) as lab:
        mint(lab, 100)
        yield lab


@pytest.fixture
def own_lab(caches: None) -> Iterator[Lab]:
    """A lab that a test may change."""
    with attestlab.demo(history=False) as lab:
        yield lab
