"""Fixtures of the fault tests: an installation to copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults import minting


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh installation on SQLite; copy it before use."""
    folder = tmp_path_factory.mktemp("installation") / "data"
    minting.installed(folder)
    return folder
