"""A served installation whose clock moves when told to, its owner, and a stranger without any credential."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from app_in_process import client_of, served
from running_server import register_issuer

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan


@pytest.fixture
def url(lab: Installation) -> Iterator[str]:
    with served(lab) as address:
        yield address


@pytest.fixture
def owner(lab: Installation, url: str) -> Iterator[httpx.Client]:
    """The key of a tenant of its own."""
    tenant = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
    with client_of(url, key=tenant.api_key) as client:
        yield client


@pytest.fixture
def stranger(url: str) -> Iterator[httpx.Client]:
    """Whoever verifies: no credential."""
    with client_of(url) as client:
        yield client


@pytest.fixture
def issuer(owner: httpx.Client) -> dict[str, Any]:
    """An issuer with one managed Ed25519 key."""
    return register_issuer(owner, kid="main")
