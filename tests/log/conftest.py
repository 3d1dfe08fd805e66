"""A log of its own for every test, on either engine, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from log_published import Log
from log_world import World
from witness_world import folder_served

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage


@pytest.fixture
def world(storage: Storage, clock: FixedClock, tmp_path: Path) -> World:
    """An empty log on either engine."""
    return World.found(storage, tmp_path, clock)


@pytest.fixture
def sqlite_world(clock: FixedClock, tmp_path: Path) -> Iterator[World]:
    """An empty log in a file that a test may copy away and bring back."""
    world = World.found_in(tmp_path, clock)
    yield world
    world.storage.close()


@pytest.fixture
def log(tmp_path: Path, clock: FixedClock) -> Iterator[Log]:
    """An empty folder on a web server, in which a test publishes what log it likes."""
    with folder_served(tmp_path / "public") as url:
        yield Log(tmp_path, url, clock)
