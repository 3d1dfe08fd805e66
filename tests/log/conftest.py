"""A new log for every test, on either engine, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from support.log.instance import LogInstance
from support.log.published import PublishedLog
from support.witnesses import serve_folder


@pytest.fixture
def log_instance(storage: Storage, clock: FixedClock, tmp_path: Path) -> LogInstance:
    """An empty log on either engine."""
    return LogInstance.create(storage, tmp_path, clock)


@pytest.fixture
def sqlite_log_instance(clock: FixedClock, tmp_path: Path) -> Iterator[LogInstance]:
    """An empty log in a file that a test may copy away and bring back."""
    log_instance = LogInstance.create_in(tmp_path, clock)
    yield log_instance
    log_instance.storage.close()


@pytest.fixture
def log(tmp_path: Path, clock: FixedClock) -> Iterator[PublishedLog]:
    """An empty folder on a web server, in which a test publishes what log it likes."""
    with serve_folder(tmp_path / "public") as url:
        yield PublishedLog(tmp_path, url, clock)
