"""After a restore nothing is signed until an operator accepts the head; what that gives up stays reported."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from attestlab.core.errors import Conflict, HeadGuardMismatch, HeadGuardMissing, IntegrityFailed
from attestlab.log.head_acceptance import accept_head, examine_head
from attestlab.log.note.note import TreeHead
from support.log.instance import LogInstance


@pytest.fixture
def restored(sqlite_log_instance: LogInstance, tmp_path: Path) -> LogInstance:
    """The records of an older copy with three entries, while the guard remembers four."""
    sqlite_log_instance.mint(1, 2, 3)
    with sqlite3.connect(tmp_path / "records.db") as source, sqlite3.connect(tmp_path / "backup.db") as target:
        source.backup(target)
    sqlite_log_instance.mint(4)
    sqlite_log_instance.storage.close()
    for leftover in tmp_path.glob("records.db*"):
        leftover.rename(tmp_path / f"newest-{leftover.name}")
    (tmp_path / "backup.db").rename(tmp_path / "records.db")
    return sqlite_log_instance.another_process()


def kinds(log_instance: LogInstance) -> list[str]:
    return [problem.kind for problem in log_instance.problems()]


def test_a_log_without_its_guard_is_read_and_not_signed(log_instance: LogInstance) -> None:
    log_instance.mint(1, 2)
    log_instance.guard.path.unlink()
    with log_instance.storage.read() as connection:
        assert log_instance.log.head(connection).size == 2
        with pytest.raises(HeadGuardMissing):
            log_instance.log.check_guard(connection)
    with pytest.raises(HeadGuardMissing, match="of 2 entries"):
        log_instance.mint(3)
    assert not log_instance.guard.path.exists(), "reading made no guard"
    assert kinds(log_instance) == ["head_guard"]


def test_an_empty_log_without_its_guard_is_not_signed(log_instance: LogInstance) -> None:
    """It may be the copy of a log that was signed since, such as a backup that was made right after `init`."""
    log_instance.guard.path.unlink()
    with pytest.raises(HeadGuardMissing, match="of 0 entries"):
        log_instance.mint(1)
    assert kinds(log_instance) == ["head_guard"]
    assert "missing" in (log_instance.accept_head() or "")
    log_instance.mint(1)
    log_instance.require_consistent()


def test_an_accepted_head_is_signed_upon_again(log_instance: LogInstance) -> None:
    log_instance.mint(1, 2)
    log_instance.guard.path.unlink()
    assert "missing" in (log_instance.accept_head() or "")
    log_instance.mint(3)
    log_instance.require_consistent()


def test_fork_is_reported_while_the_guard_exists(restored: LogInstance) -> None:
    with pytest.raises(HeadGuardMismatch):
        restored.mint(5)
    assert "size 4 was signed" in (restored.accept_head() or "")

    assert kinds(restored) == ["fork"]
    for number in range(5, 10):
        restored.mint(number)
        assert kinds(restored) == ["fork"]
    restored.storage.close()


def test_records_that_contain_the_given_up_head_are_no_fork(restored: LogInstance, tmp_path: Path) -> None:
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


def test_only_the_examined_head_is_accepted(log_instance: LogInstance) -> None:
    log_instance.mint(1)
    with log_instance.storage.read() as connection:
        shown = examine_head(connection, log_instance.guard)
    log_instance.mint(2)
    with pytest.raises(Conflict, match="grew during the check"), log_instance.storage.write() as tx:
        accept_head(tx, log_instance.guard, shown.head)


def test_records_with_another_root_are_not_accepted(sqlite_log_instance: LogInstance) -> None:
    sqlite_log_instance.mint(1, 2)
    sqlite_log_instance.guard.path.unlink()
    with sqlite_log_instance.connection() as connection:
        connection.exec_driver_sql("DROP TRIGGER log_head_no_update")
        connection.exec_driver_sql("UPDATE log_head SET root = zeroblob(32)")
    with sqlite_log_instance.storage.read() as connection, pytest.raises(IntegrityFailed):
        examine_head(connection, sqlite_log_instance.guard)


def test_a_guard_of_another_log_can_be_replaced_and_is_no_fork(sqlite_log_instance: LogInstance) -> None:
    sqlite_log_instance.mint(1)
    sqlite_log_instance.guard.path.unlink()
    sqlite_log_instance.guard.advance(TreeHead("log.example/other", 7, bytes(32)))
    assert "belongs to the log" in (sqlite_log_instance.accept_head() or "")
    sqlite_log_instance.mint(2)
    assert kinds(sqlite_log_instance) == []
