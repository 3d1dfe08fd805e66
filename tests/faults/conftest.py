"""What the crash stories share: a nursery of quick processes, and installations to copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import minting, tracing
from faults.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One process with everything imported, which forks the others."""
    opened = Nursery()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation on SQLite with one issuer; copy it before use."""
    return minting.prepared(tmp_path_factory.mktemp("installation") / "data")


needs_strace = pytest.mark.skipif(not tracing.can_trace(), reason="skipped: no strace that may trace")
