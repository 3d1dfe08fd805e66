"""The wheel, built once a module, and a service for those who install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.clean_environment import build_wheel
from support.issuers import register_issuer
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def service(running: ServerProcess) -> tuple[str, str, str]:
    """The address of a service, an API key and the name of an issuer."""
    running.start()
    with running.client() as client:
        return running.url, running.made["api_key"], register_issuer(client)["name"]
