"""Reads that a write names before it has the writer's lock: answered with the lock, and never older than it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import bindparam, select, text
from sqlalchemy.exc import ProgrammingError

from attestlab.core.db.foreseen_reads import ForeseenQuery, ForeseenRead
from attestlab.core.db.postgresql import Limits
from attestlab.core.db.storage import NotBegun, Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.db.write_observer import Unobserved
from support.chain_heads import heads, list_lengths, make_head, set_length
from support.in_process_server import wait_until

pytestmark = pytest.mark.on_postgresql

_LENGTHS = select(heads.c.name, heads.c.length).where(heads.c.name.in_(bindparam("names", expanding=True)))
_WAITING = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")


def find_lengths(execute: Execute, names: Collection[str]) -> dict[str, int]:
    return {row[0]: row[1] for row in execute(_LENGTHS, {"names": list(names)})}


def find_length(execute: Execute, name: str) -> int | None:
    return find_lengths(execute, [name]).get(name)


LENGTHS = ForeseenRead("lengths", find=find_length, find_all=find_lengths)
ONE = ForeseenQuery("length of one", lambda execute: find_length(execute, "one"))


def foresee(*kinds: Any) -> Foreseen:
    """What a write will read: lengths by their names, and queries."""
    foreseen: Foreseen = {}
    for kind in kinds:
        LENGTHS.foresee(foreseen, kind) if isinstance(kind, str) else kind.foresee(foreseen)
    return foreseen


def change_past_the_lock(storage: Storage, length: int) -> None:
    """Change all lengths in another transaction that needs no writer's lock."""
    with storage.engine.begin() as connection:
        set_length(Transaction(connection), length)


def copy_two_rows(tx: Transaction) -> None:
    """Send two rows, by COPY."""
    for name in ("three", "four"):
        tx.add(heads, make_head(name))
    tx.flush()


@pytest.fixture
def storage(storage: Storage) -> Storage:
    """Records with two rows."""
    with storage.write() as tx:
        for name in ("one", "two"):
            tx.add(heads, make_head(name, 1))
    return storage


@pytest.fixture
def other(storage: Storage) -> Iterator[Storage]:
    """Another process's access to the same records."""
    opened = Storage(storage.full_url)
    yield opened
    opened.close()


def test_reads_are_answered_with_the_lock(storage: Storage) -> None:
    with storage.write(foreseen=foresee("one", "two", "none", ONE)) as tx:
        change_past_the_lock(storage, 2)

        assert LENGTHS.get_all(tx, ["one", "two", "none"]) == [1, 1, None]
        assert find_length(tx.read_unflushed, "one") == 1
        assert find_length(tx.read_unflushed, "one") == 2, "an answer is for one statement"


def test_bytes_are_recognized_as_the_parameters_that_were_asked(storage: Storage) -> None:
    of_hash = select(heads.c.length).where(heads.c.hash == bindparam("hash"), heads.c.name == "one")
    query = ForeseenQuery("by hash", lambda execute: execute(of_hash, {"hash": b"\0" * 32}).scalar())
    with storage.write(foreseen=foresee(query)) as tx:
        change_past_the_lock(storage, 2)

        assert tx.read_unflushed(of_hash, {"hash": b"\1" * 32}).scalar() is None
        assert tx.read_unflushed(of_hash, {"hash": b"\0" * 32}).scalar() == 1


def test_answers_have_what_was_committed_while_the_write_waited(storage: Storage, other: Storage) -> None:
    def read_one() -> int | None:
        with other.write(foreseen=foresee("one", ONE)) as tx:
            kept = LENGTHS.get(tx, "one")
            assert kept == find_length(tx.read_unflushed, "one")
            return kept

    with ThreadPoolExecutor(1) as threads:
        with storage.write() as tx:
            found = threads.submit(read_one)
            wait_until(lambda: tx.read_unflushed(_WAITING).scalar(), 1)
            set_length(tx, 7)
        assert found.result() == 7


def test_query_after_a_change_of_its_own_transaction_sees_it(storage: Storage) -> None:
    with storage.write(foreseen=foresee(ONE)) as tx:
        set_length(tx, 3)
        assert find_length(tx.read_unflushed, "one") == 3

    with storage.write(foreseen=foresee(ONE)) as tx:
        copy_two_rows(tx)
        change_past_the_lock(storage, 4)
        assert find_length(tx.read_unflushed, "one") == 4


def test_values_that_no_job_asked_for_are_read_again_after_a_change(storage: Storage) -> None:
    with storage.write(foreseen=foresee("one", "two")) as tx:
        copy_two_rows(tx)
        change_past_the_lock(storage, 4)
        assert LENGTHS.get_all(tx, ["one", "two"]) == [4, 4]


def test_values_that_a_job_asked_for_are_kept(storage: Storage) -> None:
    with storage.write(foreseen=foresee("one", "two")) as tx:
        assert LENGTHS.get(tx, "one") == 1
        copy_two_rows(tx)
        change_past_the_lock(storage, 4)
        assert LENGTHS.get_all(tx, ["one", "two"]) == [1, 1]


def test_values_are_kept_for_the_commit_hooks(storage: Storage) -> None:
    found = []

    def read(tx: Transaction) -> None:
        copy_two_rows(tx)
        change_past_the_lock(storage, 4)
        found.append(LENGTHS.get(tx, "one"))

    storage.record_hooks.append(read)
    with storage.write(foreseen=foresee("one")):
        pass

    assert found == [1]


def test_answers_end_with_their_transaction(storage: Storage) -> None:
    with storage.write(foreseen=foresee(ONE)):
        pass
    change_past_the_lock(storage, 2)

    with storage.read() as connection:
        assert list_lengths(connection)["one"] == 2
        assert find_length(connection.execute, "one") == 2


def test_time_of_the_reads_is_time_under_the_lock(storage: Storage) -> None:
    held = []

    class Observer(Unobserved):
        def observe_lock(self, *, before_s: float, held_s: float) -> None:
            held.append(held_s)

    storage.observer = Observer()
    sleep = ForeseenQuery("sleep", lambda execute: execute(text("SELECT pg_sleep(0.1)")))
    with storage.write(foreseen=foresee(sleep)):
        pass

    assert held[0] >= 0.1


def test_read_that_fails_fails_its_write_alone(storage: Storage) -> None:
    broken = ForeseenQuery("broken", lambda execute: execute(text("SELECT * FROM no_such_table")))
    with pytest.raises(ProgrammingError, match="no_such_table"), storage.write(foreseen=foresee("one", broken, ONE)):
        raise AssertionError("the write began")

    with storage.write(foreseen=foresee("one")) as tx:
        assert LENGTHS.get(tx, "one") == 1


def test_write_with_reads_waits_no_longer_for_the_lock_than_its_limit(storage: Storage, other: Storage) -> None:
    assert other._database is not None
    other._database.limit(Limits(statement_s=10, lock_s=0.05, idle_in_write_s=10, answer_s=10))
    with storage.write(), pytest.raises(NotBegun, match="lock timeout"), other.write(foreseen=foresee("one")):
        raise AssertionError("the write began")

    with other.write(foreseen=foresee("one")) as tx:
        assert LENGTHS.get(tx, "one") == 1
