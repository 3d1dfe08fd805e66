"""A lab that is served to consumers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.installation import Installation
from support.consumers import ConsumerPortal
from support.in_process_server import make_client, serve_in_thread


@pytest.fixture
def portal(lab: Installation) -> Iterator[ConsumerPortal]:
    with serve_in_thread(lab) as url, make_client(url) as anyone:
        yield ConsumerPortal(lab, url, anyone)
