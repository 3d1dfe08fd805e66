"""Fixtures: one sample server, shared by the tests of a file that do not change it."""

from collections.abc import Iterator

import httpx
import pytest

from support import patient_http
from support.sample_application import WRITER_KEY, SampleServer, serve_sample_application


@pytest.fixture(scope="module")
def sample() -> Iterator[SampleServer]:
    with serve_sample_application() as server:
        yield server


@pytest.fixture(scope="module")
def client(sample: SampleServer) -> Iterator[httpx.Client]:
    """An HTTP client with a key that may write."""
    with patient_http.open_client(base_url=sample.url, headers={"X-API-Key": WRITER_KEY}) as opened:
        yield opened
