"""Fixtures of the fault tests: an installation to copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.faults import mint_jobs


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh installation on SQLite; copy it before use."""
    folder = tmp_path_factory.mktemp("installation") / "data"
    mint_jobs.create_installation(folder)
    return folder
