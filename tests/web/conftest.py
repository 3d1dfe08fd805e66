"""Fixtures: one sample server, shared by the tests of a file that do not change it."""

from collections.abc import Iterator

import httpx
import pytest
from sample_site import KEY, Running, running


@pytest.fixture(scope="module")
def sample() -> Iterator[Running]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def client(sample: Running) -> Iterator[httpx.Client]:
    """An HTTP client with a key that may write."""
    with httpx.Client(base_url=sample.url, headers={"X-API-Key": KEY}) as opened:
        yield opened
