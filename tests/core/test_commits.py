"""A commit: hooks and callbacks in their order, each error reported, and the writer's lock free afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attestlab.core.db.storage import CommitUnknown, Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable
from support.chain_heads import adding, read_lengths

pytestmark = pytest.mark.both_engines

Register = Callable[[Storage, Transaction, Callable[[], None]], None]


class DiskFailure(OSError):
    """What a disk or a connection may answer."""


def fail() -> None:
    raise DiskFailure("the disk is gone")


def write(storage: Storage, name: str) -> None:
    """One write; it never returns while an earlier one holds the lock, so look first."""
    tx = storage.try_begin()
    assert tx is not None, "the writer's lock was not released"
    storage.rollback(tx)
    with storage.write() as tx:
        adding(name)(tx)


def test_hooks_and_callbacks_run_in_the_order_in_which_they_were_registered(storage: Storage) -> None:
    order: list[str] = []

    def sequenced(tx: Transaction) -> None:
        order.append("sequenced 1")
        tx.after_sequencing(lambda: order.append("sequenced 3"))

    for number in (1, 2):
        storage.sequence_hooks.append(lambda tx, number=number: order.append(f"sequence hook {number}"))
        storage.record_hooks.append(lambda tx, number=number: order.append(f"record hook {number}"))
    with storage.write() as tx:
        tx.after_sequencing(lambda: sequenced(tx))
        tx.after_sequencing(lambda: order.append("sequenced 2"))
        tx.after_commit(lambda: order.append("committed 1"))
        tx.after_commit(lambda: order.append("committed 2"))

    assert order == [
        *("sequence hook 1", "sequence hook 2"),
        *("sequenced 1", "sequenced 2", "sequenced 3"),
        *("record hook 1", "record hook 2"),
        *("committed 1", "committed 2"),
    ]


def test_rows_of_hooks_and_callbacks_are_part_of_the_commit(storage: Storage) -> None:
    storage.sequence_hooks.append(adding("of a sequence hook"))
    storage.record_hooks.append(adding("of a record hook"))

    with storage.write() as tx:
        tx.after_sequencing(lambda: adding("of a callback")(tx))

    assert set(read_lengths(storage)) == {"of a sequence hook", "of a callback", "of a record hook"}


def test_callback_sees_its_commit_and_precedes_the_next_write(storage: Storage) -> None:
    """So what two commits tell others, such as the head of the log, cannot change places."""
    seen: list[object] = []

    with storage.write() as tx:
        adding("a")(tx)
        tx.after_commit(lambda: seen.extend([read_lengths(storage), storage.try_begin()]))

    assert seen == [{"a": 0}, None]


STEPS: dict[str, Register] = {
    "sequence hook": lambda storage, tx, step: storage.sequence_hooks.append(lambda tx: step()),
    "callback after sequencing": lambda storage, tx, step: tx.after_sequencing(step),
    "record hook": lambda storage, tx, step: storage.record_hooks.append(lambda tx: step()),
}


@pytest.mark.parametrize("register", STEPS.values(), ids=STEPS)
def test_error_before_the_commit_undoes_everything(storage: Storage, register: Register) -> None:
    called: list[str] = []

    with pytest.raises(DiskFailure), storage.write() as tx:
        adding("lost")(tx)
        tx.after_commit(lambda: called.append("lost"))
        register(storage, tx, fail)

    storage.sequence_hooks.clear()
    storage.record_hooks.clear()
    write(storage, "next")
    assert (read_lengths(storage), called, storage.commit_error) == ({"next": 0}, [], None)


def test_failed_commit_is_reported_until_a_later_one_is_durable(storage: Storage) -> None:
    called: list[object] = []
    storage.on_commit_failed = called.append

    with pytest.raises(CommitUnknown), storage.write() as tx:
        adding("lost")(tx)
        tx.after_commit(lambda: called.append("a callback"))
        tx.connection.commit = fail  # type: ignore[method-assign]

    assert isinstance(storage.commit_error, DiskFailure)
    assert called == [storage.commit_error]
    write(storage, "next")
    assert read_lengths(storage) == {"next": 0}
    with storage.write() as tx:
        storage.touch(tx)
        assert storage.commit_error is not None, "it is not durable yet"
    assert storage.commit_error is None


@pytest.mark.parametrize("cause", [None, ValueError("of the disk")], ids=["itself", "its cause"])
def test_error_after_the_commit_is_raised_and_reported(storage: Storage, cause: Exception | None) -> None:
    """Nothing is answered, although the records hold the change: what must follow it, such as the guard, failed."""
    called: list[object] = []
    storage.on_commit_failed = called.append

    def fail_for_a_cause() -> None:
        raise DiskFailure("the guard cannot be written") from cause

    with pytest.raises(DiskFailure) as failed, storage.write() as tx:
        adding("kept")(tx)
        tx.after_commit(fail_for_a_cause)

    assert called == [storage.commit_error] == [cause or failed.value]
    write(storage, "next")
    assert set(read_lengths(storage)) == {"kept", "next"}


def test_commit_of_a_rolled_back_transaction_fails(storage: Storage) -> None:
    tx = storage.begin()
    adding("lost")(tx)
    tx.flush()
    driver: Any = tx.connection.connection.dbapi_connection  # sqlite3's or psycopg's
    driver.rollback()

    with pytest.raises(Unavailable):
        storage.commit(tx)

    write(storage, "next")
    assert read_lengths(storage) == {"next": 0}


def test_unconfirmed_commit_raises_commit_unknown(storage: Storage) -> None:
    tx = storage.begin()
    adding("perhaps")(tx)
    storage.run_commit_hooks(tx)
    committed = tx.connection.commit

    def cut_off() -> None:
        committed()
        raise OSError("the line went dead")

    tx.connection.commit = cut_off  # type: ignore[method-assign]
    with pytest.raises(CommitUnknown):
        storage.commit(tx)

    assert read_lengths(storage) == {"perhaps": 0}


@pytest.mark.parametrize("verb", ["rollback", "close"])
def test_rollback_that_fails_releases_the_lock(storage: Storage, verb: str) -> None:
    tx = storage.begin()
    ended = getattr(tx.connection, verb)

    def end_and_fail() -> None:
        ended()
        fail()

    setattr(tx.connection, verb, end_and_fail)
    with pytest.raises(DiskFailure):
        storage.rollback(tx)

    write(storage, "next")
