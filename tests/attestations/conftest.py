"""One real server a module and engine, and an issuer on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from conftest import ENGINES, fresh_postgres_database
from running_server import RunningServer, register_issuer


@pytest.fixture(scope="module", params=ENGINES)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The real `attestlab serve`, once for all tests of a module; re-verified from outside at the end."""
    folder = tmp_path_factory.mktemp("served")
    url = f"sqlite:///{folder / 'records.db'}"
    if request.param == "postgresql":
        url = fresh_postgres_database(request.getfixturevalue("postgres_url"))
    with RunningServer.initialised(folder / "data", url) as server:
        yield server
        server.stop()
        server.check()


@pytest.fixture(scope="module")
def client(running: RunningServer) -> Iterator[httpx.Client]:
    with running.client() as opened:
        yield opened


@pytest.fixture(scope="module")
def issuer(client: httpx.Client) -> dict[str, Any]:
    return register_issuer(client, jurisdiction="CH")
