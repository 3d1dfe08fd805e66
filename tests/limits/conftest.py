"""Fixtures: the real application with a fixed clock, behind a trusted proxy."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

import pytest
from app_in_process import served
from limits_story import Place

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation


@pytest.fixture
def place(lab: Installation, clock: FixedClock) -> Iterator[Place]:
    lab.settings = lab.settings.model_copy(update={"trusted_proxies": (ip_network("127.0.0.1/32"),)})
    with served(lab) as url:
        opened = Place(lab, url, clock)
        yield opened
        opened.close()
