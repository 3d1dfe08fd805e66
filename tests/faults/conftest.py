"""What the crash stories share: a nursery of quick processes, and an installation to copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import minting
from faults.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One process with everything imported, which forks the others."""
    opened = Nursery()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh installation on SQLite; copy it before use."""
    folder = tmp_path_factory.mktemp("installation") / "data"
    minting.installed(folder)
    return folder
