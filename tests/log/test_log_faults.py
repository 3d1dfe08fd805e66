"""A failure while a batch is written leaves the log unchanged, and the next batch continues from there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import CommitUnknown
from attestlab.core.errors import AttestLabError
from attestlab.log.entries import EntryType
from support.log.instance import LogInstance, make_entry

pytestmark = pytest.mark.both_engines


class InjectedFault(Exception):
    pass


@contextmanager
def failing_statement(log_instance: LogInstance, number: int) -> Iterator[list[str]]:
    """Let the statement of this number, counted from the first within, fail before it reaches the database."""
    seen: list[str] = []

    def fail(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)
        if len(seen) == number + 1:
            raise InjectedFault(statement)

    event.listen(log_instance.storage.engine, "before_cursor_execute", fail)
    try:
        yield seen
    finally:
        event.remove(log_instance.storage.engine, "before_cursor_execute", fail)


def test_fault_at_any_statement_leaves_the_log_unchanged(log_instance: LogInstance) -> None:
    """
    The batch makes a tile full, so that every kind of row is written.
    """
    log_instance.grow(250)
    number, is_through = 0, False
    while not is_through:
        guard_then = log_instance.guard.read()
        with failing_statement(log_instance, number) as seen:
            try:
                log_instance.mint(*range(1000, 1010))
                is_through = True
            except InjectedFault:
                pass
        if not is_through:
            assert log_instance.guard.read() == guard_then
            problems = log_instance.problems()
            assert not problems, (seen, problems)
            number += 1
    assert number >= 6, "begin, head, leaves, tile, checkpoint and the head's move are statements"
    assert log_instance.mint(2000)[0].index == 260
    log_instance.require_consistent()


def test_a_fault_after_the_seal_leaves_the_log_as_it_was(log_instance: LogInstance, clock: FixedClock) -> None:
    def fail() -> None:
        raise InjectedFault

    log_instance.grow(255)
    with pytest.raises(InjectedFault), log_instance.storage.write() as tx:
        for number in range(1000, 1010):
            log_instance.log.append(tx, make_entry(number, clock), kind=EntryType.MINTED)
        tx.after_sequencing(fail)
    assert log_instance.mint(2000)[0].index == 255
    log_instance.require_consistent()


def test_a_tile_of_a_batch_that_failed_is_not_remembered(log_instance: LogInstance, clock: FixedClock) -> None:
    """
    The batch after it fills the same tile with other leaves; a remembered one would make false proofs.
    """
    log_instance.grow(250)
    with pytest.raises(InjectedFault), log_instance.storage.write() as tx:
        for number in range(1000, 1010):
            log_instance.log.append(tx, make_entry(number, clock), kind=EntryType.MINTED)
        tx.after_sequencing(lambda: (_ for _ in ()).throw(InjectedFault))  # type: ignore[arg-type]
    log_instance.mint(*range(2000, 2010))
    proof = log_instance.mint(3000)[0]
    with log_instance.storage.read() as connection:
        early = log_instance.log.inclusion(connection, 3)
    assert (proof.tree_size, early.root) == (261, proof.root)
    log_instance.require_consistent()


def test_unknown_commit_is_detected_by_the_next_batch(
    log_instance: LogInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The connection breaks after the database had committed: nothing in memory may assume either.
    """
    whole = log_instance.storage.commit

    def commit_and_break(connection: Any) -> None:
        whole(connection)
        raise CommitUnknown("the answer was lost")

    log_instance.mint(1)
    with monkeypatch.context() as patched:
        patched.setattr(log_instance.storage, "commit", commit_and_break)
        with pytest.raises(CommitUnknown):
            log_instance.mint(2)
    assert log_instance.mint(3)[0].index == 2
    log_instance.require_consistent()


def test_append_to_damaged_entries_is_rejected(log_instance: LogInstance) -> None:
    log_instance.grow(300)
    with log_instance.storage.engine.begin() as connection:
        name, on = (
            ("log_leaves_no_update", "")
            if log_instance.storage.is_sqlite
            else ("log_leaves_no_update", " ON log_leaves")
        )
        connection.exec_driver_sql(f"DROP TRIGGER {name}{on}")
        connection.exec_driver_sql('UPDATE log_leaves SET leaf_hash = entry WHERE "index" = 299')
    other = log_instance.another_process()
    with pytest.raises(AttestLabError, match="fsck"):
        other.mint(1000)
    other.storage.close()
