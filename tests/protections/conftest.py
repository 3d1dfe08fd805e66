"""A served lab, and two consumers who are signed in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from support.in_process_server import serve_in_thread
from support.protections import Consumer, open_consumer


@pytest.fixture
def url(lab: Installation) -> Iterator[str]:
    with serve_in_thread(lab) as url:
        yield url


@pytest.fixture
def ada(lab: Installation, url: str) -> Iterator[Consumer]:
    consumer = open_consumer(lab, url, "ada@consumers.example")
    with consumer.client:
        yield consumer


@pytest.fixture
def grace(lab: Installation, url: str) -> Iterator[Consumer]:
    consumer = open_consumer(lab, url, "grace@consumers.example", "Grace Hopper")
    with consumer.client:
        yield consumer
