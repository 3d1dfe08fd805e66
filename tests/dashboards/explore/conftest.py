"""A real lab in this process whose pages have something to show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab import Lab
from support import risk_story


@pytest.fixture(scope="package")
def owner(caches: None) -> Iterator[Lab]:
    """The lab of the demo's owner, who may see each page; tests only read."""
    with attestlab.demo(history=False) as lab:
        risk_story.tell(lab)
        yield lab.as_("ann@demo.example", password="only for the demo")
