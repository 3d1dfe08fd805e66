"""Whatever fails while a batch is written, the log is as it was before, and the next batch goes on from there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from log_world import World, entry
from sqlalchemy import event

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import CommitUnknown
from attestlab.core.errors import AttestLabError
from attestlab.log.entries import EntryType

pytestmark = pytest.mark.both_engines


class InjectedFault(Exception):
    pass


@contextmanager
def failing_statement(world: World, number: int) -> Iterator[list[str]]:
    """Let the statement of this number, counted from the first within, fail before it reaches the database."""
    seen: list[str] = []

    def fail(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)
        if len(seen) == number + 1:
            raise InjectedFault(statement)

    event.listen(world.storage.engine, "before_cursor_execute", fail)
    try:
        yield seen
    finally:
        event.remove(world.storage.engine, "before_cursor_execute", fail)


def test_a_fault_at_any_statement_of_a_batch_leaves_the_log_as_it_was(world: World) -> None:
    """
    The batch makes a tile full, so that every kind of row is written.
    """
    world.grow(250)
    number, is_through = 0, False
    while not is_through:
        guard_then = world.guard.read()
        with failing_statement(world, number) as seen:
            try:
                world.mint(*range(1000, 1010))
                is_through = True
            except InjectedFault:
                pass
        if not is_through:
            assert world.guard.read() == guard_then
            problems = world.problems()
            assert not problems, (seen, problems)
            number += 1
    assert number >= 6, "begin, head, leaves, tile, checkpoint and the head's move are statements"
    assert world.mint(2000)[0].index == 260
    world.require_consistent()


def test_a_fault_after_the_seal_leaves_the_log_as_it_was(world: World, clock: FixedClock) -> None:
    def fail() -> None:
        raise InjectedFault

    world.grow(255)
    with pytest.raises(InjectedFault), world.storage.write() as tx:
        for number in range(1000, 1010):
            world.log.append(tx, entry(number, clock), kind=EntryType.MINTED)
        tx.after_sequencing(fail)
    assert world.mint(2000)[0].index == 255
    world.require_consistent()


def test_a_tile_of_a_batch_that_failed_is_not_remembered(world: World, clock: FixedClock) -> None:
    """
    The batch after it fills the same tile with other leaves; a remembered one would make false proofs.
    """
    world.grow(250)
    with pytest.raises(InjectedFault), world.storage.write() as tx:
        for number in range(1000, 1010):
            world.log.append(tx, entry(number, clock), kind=EntryType.MINTED)
        tx.after_sequencing(lambda: (_ for _ in ()).throw(InjectedFault))  # type: ignore[arg-type]
    world.mint(*range(2000, 2010))
    proof = world.mint(3000)[0]
    with world.storage.read() as connection:
        early = world.log.inclusion(connection, 3)
    assert (proof.tree_size, early.root) == (261, proof.root)
    world.require_consistent()


def test_unknown_commit_is_detected_by_the_next_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The connection breaks after the database had committed: nothing in memory may assume either.
    """
    whole = world.storage.commit

    def commit_and_break(connection: Any) -> None:
        whole(connection)
        raise CommitUnknown("the answer was lost")

    world.mint(1)
    with monkeypatch.context() as patched:
        patched.setattr(world.storage, "commit", commit_and_break)
        with pytest.raises(CommitUnknown):
            world.mint(2)
    assert world.mint(3)[0].index == 2
    world.require_consistent()


def test_append_to_damaged_entries_is_rejected(world: World) -> None:
    world.grow(300)
    with world.storage.engine.begin() as connection:
        name, on = (
            ("log_leaves_no_update", "") if world.storage.is_sqlite else ("log_leaves_no_update", " ON log_leaves")
        )
        connection.exec_driver_sql(f"DROP TRIGGER {name}{on}")
        connection.exec_driver_sql('UPDATE log_leaves SET leaf_hash = entry WHERE "index" = 299')
    other = world.another_process()
    with pytest.raises(AttestLabError, match="fsck"):
        other.mint(1000)
    other.storage.close()
