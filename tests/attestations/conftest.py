"""An issuer on the real server of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.issuers import register_issuer
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def client(running: ServerProcess) -> Iterator[httpx.Client]:
    with running.client() as opened:
        yield opened


@pytest.fixture(scope="module")
def issuer(client: httpx.Client) -> dict[str, Any]:
    return register_issuer(client, jurisdiction="CH")
