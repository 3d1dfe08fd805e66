"""A lab whose blog is served, and someone who writes for it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from attestlab.installation import Installation
from support.blog import serve_blog
from support.orgs import TenantClients


@pytest.fixture
def clients(lab: Installation) -> Iterator[TenantClients]:
    with serve_blog(lab) as clients:
        yield clients


@pytest.fixture
def editor(clients: TenantClients) -> Iterator[httpx.Client]:
    _, client = clients.person("content_admin", email="editor@people.example")
    with client:
        yield client
