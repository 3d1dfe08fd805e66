"""A job that fails in a group leaves nothing behind, and takes nothing of the other jobs with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.orgs.tables import Org, OrgRecord, Tenant, TenantRecord
from support.chain_heads import adding, heads, make_head, read_lengths, set_length

pytestmark = pytest.mark.both_engines

LETTERS = Buffer[str]("letters")
Change = Callable[[Transaction], object]


class Stopped(BaseException):
    """What ends a thread or a task is no `Exception`."""


def update_in_bulk(tx: Transaction) -> None:
    tx.bulk_update(heads, ("length",), [make_head("first", 9)])


CHANGES: dict[str, Change] = {"exec": lambda tx: set_length(tx, 9), "bulk_update": update_in_bulk}


def failing_after(*steps: Change, fault: type[BaseException] = RuntimeError) -> Callable[[Transaction], None]:
    """A job that takes these steps and then fails."""

    def job(tx: Transaction) -> None:
        for step in steps:
            step(tx)
        raise fault

    return job


def fail(tx: Transaction, *steps: Change, fault: type[BaseException] = RuntimeError) -> None:
    """Run a job that takes these steps and then fails."""
    with pytest.raises(fault):
        tx.attempt_job(failing_after(*steps, fault=fault))


def names_in(tx: Transaction) -> set[str]:
    return set(tx.exec(select(heads.c.name)).scalars())


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("fault", [RuntimeError, Stopped])
def test_statement_of_a_failed_job_is_undone(storage: Storage, change: Change, fault: type[BaseException]) -> None:
    with storage.write() as tx:
        adding("first")(tx)
    with storage.write() as tx:
        fail(tx, change, fault=fault)

    assert read_lengths(storage) == {"first": 0}


@pytest.mark.parametrize("fault", [RuntimeError, Stopped])
def test_row_of_a_failed_job_is_undone(storage: Storage, fault: type[BaseException]) -> None:
    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        fail(tx, adding("lost"), fault=fault)

    assert read_lengths(storage) == {"first": 0}


def test_all_rows_of_a_job_that_fails_after_a_statement_are_undone(storage: Storage) -> None:
    """The statement has sent the row of the job before, so the failed job's own rows are all that wait."""
    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        fail(tx, names_in, adding("lost"), adding("lost too"))
        fail(tx, adding("lost"), names_in, adding("lost too"))

    assert read_lengths(storage) == {"first": 0}


def test_changes_of_a_job_outlast_the_failure_of_the_next(storage: Storage) -> None:
    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        tx.attempt_job(lambda tx: (set_length(tx, 5), adding("second")(tx)))
        assert not tx.connection.in_nested_transaction(), "a savepoint of a job that has ended stays open"
        fail(tx, lambda tx: set_length(tx, 9))
        tx.attempt_job(adding("third"))

    assert read_lengths(storage) == {"first": 5, "second": 0, "third": 0}


def test_changes_between_jobs_outlast_the_failure_of_the_next(storage: Storage) -> None:
    """As of a commit hook, or of a transaction that does more after its jobs."""
    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        set_length(tx, 5)
        adding("second")(tx)
        fail(tx, lambda tx: set_length(tx, 9))

    assert read_lengths(storage) == {"first": 5, "second": 0}


def test_buffers_and_callbacks_of_other_jobs_outlast_a_failure(storage: Storage) -> None:
    called: list[str] = []

    def telling(name: str) -> Change:
        return lambda tx: (
            tx.buffer(LETTERS).append(name),
            tx.after_sequencing(lambda: called.append(f"{name} sequenced")),
            tx.after_commit(lambda: called.append(f"{name} committed")),
        )

    with storage.write() as tx:
        tx.attempt_job(telling("first"))
        fail(tx, telling("lost"))
        tx.attempt_job(telling("second"))
        letters = list(tx.buffer(LETTERS))

    assert letters == ["first", "second"]
    assert called == ["first sequenced", "second sequenced", "first committed", "second committed"]


def test_row_that_the_database_refuses_fails_its_own_job(storage: Storage) -> None:
    """It is sent at the end of the job, because the job has sent statements before."""

    def repeating(tx: Transaction) -> None:
        names_in(tx)
        adding("first")(tx)

    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        with pytest.raises(IntegrityError):
            tx.attempt_job(repeating)
        tx.attempt_job(adding("second"))

    assert read_lengths(storage) == {"first": 0, "second": 0}


def test_statements_follow_what_was_added_before_them(storage: Storage) -> None:
    def job(tx: Transaction) -> None:
        adding("second")(tx)
        assert set(tx.read_unflushed(select(heads.c.name)).scalars()) == set(), "reads without sending what waits"
        assert names_in(tx) == {"first", "second"}
        adding("third")(tx)
        set_length(tx, 4)
        adding("fourth")(tx)
        tx.bulk_update(heads, ("length",), [make_head("fourth", 5)])

    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        tx.attempt_job(job)

    assert read_lengths(storage) == {"first": 4, "second": 4, "third": 4, "fourth": 5}


def test_parents_are_inserted_before_their_children(storage: Storage) -> None:
    tenant, org, at = UUID(int=1), UUID(int=2), datetime(2026, 11, 21, tzinfo=UTC)

    with storage.write() as tx:
        tx.add(table_of(Org), OrgRecord(org, tenant, "Sparrow", "sparrow", "ACTIVE", at))
        tx.add(table_of(Tenant), TenantRecord(tenant, "Sparrow", "FREE", False, at))

    with storage.read() as connection:
        assert connection.scalars(select(table_of(Org).c.tenant_id)).all() == [tenant]
