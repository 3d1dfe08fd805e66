"""What the tests of the house share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from house.measures import forget_trees


@pytest.fixture(scope="package", autouse=True)
def parsed_modules() -> Iterator[None]:
    """The parsed modules of the project, until the last of these tests."""
    yield
    forget_trees()
