"""An issuer who is served, and people to whom it delivers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from support.inbox import Recipient, Registry, serve_registry


@pytest.fixture
def registry(lab: Installation) -> Iterator[Registry]:
    with serve_registry(lab) as served:
        yield served


@pytest.fixture
def ada(registry: Registry) -> Iterator[Recipient]:
    recipient = registry.consumer("ada", username=f"ada_{registry.mark}")
    yield recipient
    recipient.client.close()
