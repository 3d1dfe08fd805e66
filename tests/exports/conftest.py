"""A served installation whose clock the tests move, its owner, and a stranger without any credential."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer


@pytest.fixture
def url(lab: Installation) -> Iterator[str]:
    with serve_in_thread(lab) as address:
        yield address


@pytest.fixture
def owner(lab: Installation, url: str) -> Iterator[httpx.Client]:
    """The key of a new tenant."""
    tenant = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
    with make_client(url, key=tenant.api_key) as client:
        yield client


@pytest.fixture
def stranger(url: str) -> Iterator[httpx.Client]:
    """A verifier without any credential."""
    with make_client(url) as client:
        yield client


@pytest.fixture
def issuer(owner: httpx.Client) -> dict[str, Any]:
    """An issuer with one managed Ed25519 key."""
    return register_issuer(owner, kid="main")
