"""Idempotency records: kept for a day; a changed or missing record is detected."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from alembic import command
from sqlalchemy import Column, DateTime, Integer, LargeBinary, MetaData, Table, delete, func, select, update

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Foreseen
from attestlab.core.errors import IdempotencyKeyReused, IntegrityFailed
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.migrations import alembic_config, upgrade
from attestlab.web.idempotency import integrity
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.idempotency import store as idempotency_store
from attestlab.web.idempotency.keys import RECORD_TTL, IdempotencyKey
from attestlab.web.response import Response

MANY = 20
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
OLD = Table(
    "remembered_answers",
    MetaData(),
    Column("place", LargeBinary),
    Column("fingerprint", LargeBinary, default=b"f"),
    Column("status", Integer, default=201),
    Column("headers", LargeBinary, default=b"{}"),
    Column("body", LargeBinary, default=b"made"),
    Column("created_at", DateTime(timezone=True)),
)


def intent(lab: Installation, key: str, *, request: str = "a request") -> IdempotencyKey:
    place, fingerprint = (hashlib.sha256(word.encode()).digest() for word in (key, request))
    return IdempotencyKey(place, fingerprint, lab.clock.now())


def claimed(lab: Installation, wanted: IdempotencyKey) -> Response | None:
    """Reserves the key in a write and returns the stored response; without one, stores a response."""
    foreseen: Foreseen = {}
    idempotency.foresee(foreseen, wanted)
    with lab.storage.write(foreseen=foreseen) as tx:
        known = idempotency.reserve(tx, wanted, group_record_ids=[wanted.record_id])
        if known is None:
            idempotency.store_response(tx, wanted, Response(201, {"Location": "/here"}, b"made"))
    return known


def count_records(lab: Installation) -> int:
    with lab.storage.read() as connection:
        return connection.scalar(select(func.count()).select_from(idempotency_store.answers)) or 0


@pytest.mark.both_engines
def test_a_response_is_replayed_within_a_day(lab: Installation, clock: FixedClock) -> None:
    assert claimed(lab, intent(lab, "key")) is None
    clock.advance(RECORD_TTL)

    again = claimed(lab, intent(lab, "key"))

    assert again == Response(201, {"Location": "/here", "Idempotent-Replayed": "true"}, b"made")
    with pytest.raises(IdempotencyKeyReused):
        claimed(lab, intent(lab, "key", request="another request"))


@pytest.mark.both_engines
def test_records_with_a_future_time_expire_after_a_day(lab: Installation, clock: FixedClock) -> None:
    right = clock.now()
    claimed(lab, intent(lab, "before"))
    clock.advance(timedelta(days=3653))
    for number in range(3):
        claimed(lab, intent(lab, f"ahead {number}"))
    clock.at = right + timedelta(minutes=1)
    claimed(lab, intent(lab, "after"))
    assert claimed(lab, intent(lab, "ahead 0")) is not None, "it was given a minute ago"

    clock.at = right + RECORD_TTL + timedelta(minutes=2)
    claimed(lab, intent(lab, "a day later"))
    claimed(lab, intent(lab, "a moment later"))

    assert count_records(lab) == 2
    assert claimed(lab, intent(lab, "ahead 0")) is None


@pytest.mark.both_engines
def test_after_a_day_a_record_is_deleted_and_its_key_is_free(lab: Installation, clock: FixedClock) -> None:
    for number in range(MANY):
        claimed(lab, intent(lab, f"key {number}"))
        clock.advance(timedelta(hours=1))
    clock.advance(timedelta(hours=10))

    assert claimed(lab, intent(lab, "key 0")) is None
    assert count_records(lab) == MANY - 6 + 1, "six of twenty are older than a day, and one is new"
    with lab.storage.read() as connection:
        assert idempotency.lookup(connection, intent(lab, "key 1")) is None


@pytest.mark.both_engines
def test_the_chain_continues_after_all_records_expired(lab: Installation, clock: FixedClock) -> None:
    claimed(lab, intent(lab, "one"))
    claimed(lab, intent(lab, "two"))
    clock.advance(RECORD_TTL + timedelta(seconds=1))

    claimed(lab, intent(lab, "three"))

    assert count_records(lab) == 1
    with lab.storage.read() as connection:
        assert connection.scalar(select(idempotency_store.answers.c.seq)) == 2


@pytest.mark.tampered
@pytest.mark.parametrize("seq", [0, 1, 2])
def test_a_removed_record_is_detected(lab: Installation, seq: int) -> None:
    """Without the record, a repeated request would be executed a second time."""
    for key in ("one", "two", "three"):
        claimed(lab, intent(lab, key))

    with lab.storage.write() as tx:
        tx.exec(delete(idempotency_store.answers).where(idempotency_store.answers.c.seq == seq))

    assert {problem.kind for problem in fsck(lab)} == {"answers"}


@pytest.mark.tampered
@pytest.mark.parametrize("column", ["place", "fingerprint", "headers", "body", "status", "created_at"])
def test_an_altered_record_is_detected(lab: Installation, column: str) -> None:
    claimed(lab, intent(lab, "key"))
    changed = {"status": 200, "created_at": lab.clock.now() + timedelta(microseconds=1)}.get(column, b"forged")

    with lab.storage.write() as tx:
        tx.exec(update(idempotency_store.answers).values({column: changed}))

    assert {problem.kind for problem in fsck(lab)} == {"answers"}


@pytest.mark.both_engines
def test_migration_links_records_of_an_older_version(empty_database: str) -> None:
    """Revision 0001 stored records without a chain."""
    storage = Storage(empty_database)
    with storage.write() as tx:
        command.upgrade(alembic_config(connection=tx.connection), "0001")
        for number in range(3):
            tx.exec(OLD.insert().values(place=bytes([number]) * 32, created_at=NOON - timedelta(seconds=number)))

    upgrade(storage)

    with storage.read() as connection:
        assert list(integrity.find_inconsistencies(connection)) == []
        in_order = connection.scalars(
            select(idempotency_store.answers.c.place).order_by(idempotency_store.answers.c.seq)
        ).all()
    assert [place[0] for place in in_order] == [2, 1, 0]
    storage.close()


@pytest.mark.both_engines
def test_a_sealed_response_is_replayed_and_never_stored_in_clear(lab: Installation) -> None:
    """The response of a secret route; its stored headers mark it as sealed."""
    wanted = replace(intent(lab, "key 1"), sealing=lab.keyring)

    assert claimed(lab, wanted) is None

    repeated = claimed(lab, wanted)
    assert repeated is not None
    assert (repeated.status, repeated.body, repeated.headers["Location"]) == (201, b"made", "/here")
    with lab.storage.read() as connection:
        (row,) = connection.execute(select(idempotency_store.answers.c.headers, idempotency_store.answers.c.body))
    assert row.headers.startswith(idempotency.SEALED)
    assert b"made" not in row.body


@pytest.mark.tampered
def test_a_sealed_response_is_bound_to_its_record(lab: Installation) -> None:
    """An attacker with write access to the database cannot replay one client's response to another."""
    wanted = replace(intent(lab, "key 1"), sealing=lab.keyring)
    claimed(lab, wanted)
    elsewhere = replace(intent(lab, "key 2"), sealing=lab.keyring)
    with lab.storage.engine.begin() as connection:
        connection.execute(update(idempotency_store.answers).values(place=elsewhere.record_id))

    with pytest.raises(IntegrityFailed):
        claimed(lab, elsewhere)
