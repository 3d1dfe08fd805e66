"""Fixtures: the real application with a fixed clock, behind a trusted proxy."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from support.in_process_server import serve_in_thread
from support.rate_limits import ProxiedServer


@pytest.fixture
def proxied_server(lab: Installation, clock: FixedClock) -> Iterator[ProxiedServer]:
    lab.settings = lab.settings.model_copy(update={"trusted_proxies": (ip_network("127.0.0.1/32"),)})
    with serve_in_thread(lab) as url:
        opened = ProxiedServer(lab, url, clock)
        yield opened
        opened.close()
