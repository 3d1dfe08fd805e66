"""Reads of one thread that share a snapshot: each sees what was committed before its block began."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from attestlab.core.db.storage import Storage
from support.chain_heads import adding, list_lengths, read_lengths

pytestmark = pytest.mark.both_engines


@pytest.fixture
def other_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def add(storage: Storage, name: str) -> None:
    with storage.write() as tx:
        adding(name)(tx)


@pytest.mark.on_postgresql
def test_reads_of_a_block_see_one_moment(storage: Storage, other_thread: ThreadPoolExecutor) -> None:
    with storage.share_snapshot():
        assert read_lengths(storage) == {}
        other_thread.submit(add, storage, "later").result()
        assert read_lengths(storage) == {}

    assert read_lengths(storage) == {"later": 0}


def test_block_sees_all_that_was_committed_before_it(storage: Storage) -> None:
    for name in ("first", "second"):
        add(storage, name)
        with storage.share_snapshot():
            assert name in storage.cached_read("names", list_lengths)


@pytest.mark.on_postgresql
def test_cached_read_loads_once_in_a_block(storage: Storage) -> None:
    loaded = []

    def load(connection: Connection) -> int:
        loaded.append(connection.execute(text("SELECT 1")).scalar_one())
        return len(loaded)

    assert [storage.cached_read("number", load) for _ in range(2)] == [1, 2]
    with storage.share_snapshot():
        assert [storage.cached_read("number", load) for _ in range(2)] == [3, 3]


def test_write_of_the_thread_is_seen_by_its_next_read(storage: Storage) -> None:
    with storage.share_snapshot():
        assert storage.cached_read("names", list_lengths) == {}
        add(storage, "own")
        assert storage.cached_read("names", list_lengths) == read_lengths(storage) == {"own": 0}


def test_failed_read_fails_alone(storage: Storage) -> None:
    with storage.share_snapshot():
        with pytest.raises(DBAPIError), storage.read() as connection:
            connection.execute(text("SELECT * FROM no_such_table"))
        assert read_lengths(storage) == {}
