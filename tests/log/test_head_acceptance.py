"""After a restore nothing is signed until an operator accepts the head; what that gives up stays reported."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from log_world import World

from attestlab.core.errors import Conflict, HeadGuardMismatch, HeadGuardMissing, IntegrityFailed
from attestlab.log.head_acceptance import accept_head, examine_head
from attestlab.log.note.note import TreeHead


@pytest.fixture
def restored(sqlite_world: World, tmp_path: Path) -> World:
    """The records of an older copy with three entries, while the guard remembers four."""
    sqlite_world.mint(1, 2, 3)
    with sqlite3.connect(tmp_path / "records.db") as source, sqlite3.connect(tmp_path / "backup.db") as target:
        source.backup(target)
    sqlite_world.mint(4)
    sqlite_world.storage.close()
    for leftover in tmp_path.glob("records.db*"):
        leftover.rename(tmp_path / f"newest-{leftover.name}")
    (tmp_path / "backup.db").rename(tmp_path / "records.db")
    return sqlite_world.another_process()


def kinds(world: World) -> list[str]:
    return [problem.kind for problem in world.problems()]


def test_a_log_without_its_guard_is_read_and_not_signed(world: World) -> None:
    world.mint(1, 2)
    world.guard.path.unlink()
    with world.storage.read() as connection:
        assert world.log.head(connection).size == 2
        with pytest.raises(HeadGuardMissing):
            world.log.check_guard(connection)
    with pytest.raises(HeadGuardMissing, match="of 2 entries"):
        world.mint(3)
    assert not world.guard.path.exists(), "reading made no guard"
    assert kinds(world) == ["head_guard"]


def test_an_accepted_head_is_signed_upon_again(world: World) -> None:
    world.mint(1, 2)
    world.guard.path.unlink()
    assert "missing" in (world.accept_head() or "")
    world.mint(3)
    world.require_consistent()


def test_fork_is_reported_while_the_guard_exists(restored: World) -> None:
    with pytest.raises(HeadGuardMismatch):
        restored.mint(5)
    assert "size 4 was signed" in (restored.accept_head() or "")

    assert kinds(restored) == ["fork"]
    for number in range(5, 10):
        restored.mint(number)
        assert kinds(restored) == ["fork"]
    restored.storage.close()


def test_records_that_contain_the_given_up_head_are_no_fork(restored: World, tmp_path: Path) -> None:
    """
    The newest copy turns up after the older one was accepted, and before anything was minted upon it.
    """
    restored.accept_head()
    restored.storage.close()
    for leftover in tmp_path.glob("newest-records.db*"):
        leftover.rename(tmp_path / leftover.name.removeprefix("newest-"))
    found = restored.another_process()
    found.mint(5)
    assert kinds(found) == []
    found.storage.close()


def test_only_the_examined_head_is_accepted(world: World) -> None:
    world.mint(1)
    with world.storage.read() as connection:
        shown = examine_head(connection, world.guard)
    world.mint(2)
    with pytest.raises(Conflict, match="grew meanwhile"), world.storage.write() as tx:
        accept_head(tx, world.guard, shown.head)


def test_records_whose_entries_do_not_have_the_signed_root_are_not_accepted(sqlite_world: World) -> None:
    sqlite_world.mint(1, 2)
    sqlite_world.guard.path.unlink()
    with sqlite_world.connection() as connection:
        connection.exec_driver_sql("DROP TRIGGER log_head_no_update")
        connection.exec_driver_sql("UPDATE log_head SET root = zeroblob(32)")
    with sqlite_world.storage.read() as connection, pytest.raises(IntegrityFailed):
        examine_head(connection, sqlite_world.guard)


def test_a_guard_of_another_log_can_be_replaced_and_is_no_fork(sqlite_world: World) -> None:
    sqlite_world.mint(1)
    sqlite_world.guard.path.unlink()
    sqlite_world.guard.advance(TreeHead("log.example/other", 7, bytes(32)))
    assert "belongs to the log" in (sqlite_world.accept_head() or "")
    sqlite_world.mint(2)
    assert kinds(sqlite_world) == []
