"""The demo's cache for tests of the dashboards, which leave the user's cache alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.demo_caches import use_demo_caches


@pytest.fixture(scope="session")
def caches() -> Iterator[None]:
    """The folder of the demo's cache, which all test processes share."""
    with use_demo_caches():
        yield
