"""SQLite alone: snapshots, the cache of a thread, the wait for the writer's lock, and open files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from attestlab.core.db import storage as storage_module
from attestlab.core.db.storage import Storage
from support.chain_heads import adding, list_lengths, read_lengths
from support.databases import copy_sqlite_file


@pytest.fixture
def sqlite_file(migrated_file: Path, tmp_path: Path) -> str:
    """The URL of an SQLite database with every table, which several storages open."""
    return copy_sqlite_file(migrated_file, tmp_path)


def test_a_read_within_a_read_has_the_same_snapshot(sqlite_file: str) -> None:
    """It is the same connection of the thread, and the inner read must not end the snapshot of the outer one."""
    storage, other = Storage(sqlite_file), Storage(sqlite_file)
    with storage.read() as connection:
        seen = [list_lengths(connection), read_lengths(storage)]
        with other.write() as tx:
            adding("between")(tx)
        seen += [list_lengths(connection), read_lengths(storage), list_lengths(connection)]

    assert seen == [{}] * 5
    assert read_lengths(storage) == {"between": 0}
    storage.close()
    other.close()


def test_cache_is_bounded(sqlite_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "CACHE_CAPACITY", 3)
    storage, loaded = Storage(sqlite_file), list[int]()

    for number in [*range(10), *range(10)]:
        storage.cached_read(number, lambda _connection, number=number: loaded.append(number))

    assert len(loaded) > 10
    storage.close()


@contextmanager
def locked_for_a_moment(storage: Storage) -> Iterator[None]:
    """Hold the writer's lock for some hundred milliseconds, which the block may wait for."""
    holding = storage.begin()
    release = threading.Timer(0.3, storage.rollback, [holding])
    release.start()
    try:
        yield
    finally:
        release.join()


def test_try_begin_does_not_wait_for_another_process(sqlite_file: str) -> None:
    storage, other = Storage(sqlite_file), Storage(sqlite_file)
    with locked_for_a_moment(other):
        assert storage.try_begin() is None

    storage.close()
    other.close()


def test_write_waits_for_another_process(sqlite_file: str) -> None:
    """Also on a connection that has just been used for an attempt without waiting."""
    storage, other = Storage(sqlite_file), Storage(sqlite_file)
    with locked_for_a_moment(other):
        assert storage.try_begin() is None
        with storage.write() as tx:
            adding("a")(tx)

    assert read_lengths(storage) == {"a": 0}
    storage.close()
    other.close()


def test_close_closes_every_file(sqlite_file: str) -> None:
    storage = Storage(sqlite_file)
    read_lengths(storage)
    reader = threading.Thread(target=read_lengths, args=[storage])
    reader.start()
    reader.join()
    with storage.write() as tx:
        adding("a")(tx)

    storage.close()

    opened = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # another thread may have closed it
            opened.append(os.readlink(path))
    assert [path for path in opened if path.startswith(sqlite_file.removeprefix("sqlite:///"))] == []
