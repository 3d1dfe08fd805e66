"""A real lab in this process for issuer governance: the demo's documents, and a story of trust."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

import attestlab
from attestlab import Lab
from support import governance_story


@pytest.fixture(scope="package")
def service(caches: None) -> Iterator[Lab]:
    """The lab of the service itself after the story; tests only read."""
    with attestlab.demo(history=False) as lab:
        governance_story.tell(lab)
        yield lab


@pytest.fixture(scope="package")
def ann(service: Lab) -> Lab:
    """The lab of the owner; tests only read."""
    return governance_story.sign_in(service, "ann")


@pytest.fixture
def own_service(caches: None) -> Iterator[Lab]:
    """A lab that a test may change, without the story."""
    with attestlab.demo(history=False) as lab:
        yield lab


@pytest.fixture
def move_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Moves the clock of the demo's world by a number of days from its beginning."""
    began = time.monotonic()

    def move(days: int) -> None:
        monkeypatch.setattr("attestlab.embedded.demo.monotonic", lambda: began + days * 24 * 3600.0)

    return move
