"""A served installation, and somebody who looks without any credential."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from app_in_process import client_of, served

from attestlab.lab import Lab


@pytest.fixture
def anyone(lab: Lab) -> Iterator[httpx.Client]:
    with served(lab) as url, client_of(url) as client:
        yield client
