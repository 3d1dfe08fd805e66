"""The notebooks' demo is that of the tests: a run builds it once, and leaves the user's cache alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.demo_caches import use_demo_caches


@pytest.fixture(scope="session", autouse=True)
def caches() -> Iterator[None]:
    """The folder of the demo's cache, which the kernels inherit."""
    with use_demo_caches():
        yield
