"""One sample server for every test of a file that does not wear it out."""

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
    """A well-behaved caller with a writer's key."""
    with httpx.Client(base_url=sample.url, headers={"X-API-Key": KEY}) as opened:
        yield opened
