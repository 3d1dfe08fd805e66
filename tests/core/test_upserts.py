"""Upserts and updates of many rows: the same rows on SQLite and PostgreSQL, and none of them cut."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import BigInteger, Column, Double, LargeBinary, MetaData, String, Table, Uuid, select
from sqlalchemy.exc import DataError
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert

ROWS = Table(
    "upserted",
    MetaData(),
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", String(8), primary_key=True),
    Column("count", BigInteger),
    Column("seen", UTCDateTime),
    Column("raw", LargeBinary),
    prefixes=["TEMPORARY"],
)
ADD = Upsert(
    ROWS,
    key=("tenant_id", "name"),
    change=lambda new: {"count": ROWS.c["count"] + new["count"], "seen": new.seen, "raw": new.raw},
)
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def make_row(number: int, *, name: str = "", count: int = 1, minutes: int = 0) -> tuple[object, ...]:
    seen = None if number == 2 else NOON + timedelta(minutes=minutes)
    return UUID(int=number), name or f"né'{number}", count, seen, bytes([number % 256])


@pytest.fixture
def tx(storage: Storage) -> Iterator[Transaction]:
    """A transaction with the table; it is rolled back."""
    transaction = storage.begin()
    ROWS.create(transaction.connection)
    yield transaction
    storage.rollback(transaction)


def read_back(tx: Transaction) -> list[Any]:
    return [tuple(row) for row in tx.exec(select(ROWS).order_by(ROWS.c.tenant_id))]


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 2, 300])
def test_rows_are_inserted_and_those_that_exist_are_updated(tx: Transaction, count: int) -> None:
    ADD.run_many(tx.connection, [make_row(number) for number in range(0, count, 2)])
    ADD.run_many(tx.connection, [make_row(number, count=2**40, minutes=1) for number in range(count)])

    assert read_back(tx) == [make_row(number, count=2**40 + (number % 2 == 0), minutes=1) for number in range(count)]


@pytest.mark.both_engines
def test_rows_may_be_mappings(tx: Transaction) -> None:
    rows = [make_row(number) for number in range(3)]
    ADD.run_many(tx.connection, [dict(zip(ROWS.columns.keys(), row, strict=True)) for row in rows])

    assert read_back(tx) == rows


@pytest.mark.on_postgresql
def test_a_text_that_is_too_long_is_refused_and_not_cut(tx: Transaction) -> None:
    with pytest.raises(DataError):
        ADD.run_many(tx.connection, [make_row(0), make_row(1, name="123456789")])


@pytest.mark.on_postgresql
def test_doubles_are_refused(tx: Transaction) -> None:
    table = Table("scores", MetaData(), Column("name", String, primary_key=True), Column("score", Double))

    with pytest.raises(TypeError, match="column of doubles"):
        Upsert(table, key=("name",), change=lambda new: {"score": new.score}).run_many(
            tx.connection, [("a", 0.5), ("b", float("nan"))]
        )


@pytest.mark.both_engines
def test_a_time_without_offset_is_refused(tx: Transaction) -> None:
    ambiguous = (*make_row(1)[:3], datetime(2026, 11, 27, 12), b"")

    with pytest.raises(ValueError, match="no UTC offset"):
        ADD.run_many(tx.connection, [make_row(0), ambiguous])


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 2, 300])
def test_updates_change_the_named_columns_of_their_rows_alone(tx: Transaction, count: int) -> None:
    names = ROWS.columns.keys()
    tx.add_rows(ROWS, [make_row(number) for number in range(count + 1)])
    changed = [dict(zip(names, make_row(number, count=2**40, minutes=1), strict=True)) for number in range(count)]
    tx.bulk_update(ROWS, ("seen", "raw"), [row | {"raw": b"\x00\\new"} for row in changed])

    kept = [(*make_row(number, minutes=1)[:4], b"\x00\\new") for number in range(count)]
    assert read_back(tx) == [*kept, make_row(count)]


@pytest.mark.on_postgresql
def test_an_update_cuts_no_text(tx: Transaction) -> None:
    table = Table("named", MetaData(), Column("id", Uuid, primary_key=True), Column("name", String(8)))
    table.create(tx.connection)
    tx.add_rows(table, [(UUID(int=number), "short") for number in range(2)])

    with pytest.raises(DataError):
        tx.bulk_update(table, ("name",), [{"id": UUID(int=number), "name": "123456789"} for number in range(2)])


@pytest.mark.on_postgresql
def test_an_update_of_doubles_keeps_those_that_json_lacks(tx: Transaction) -> None:
    table = Table("rated", MetaData(), Column("id", Uuid, primary_key=True), Column("score", Double))
    table.create(tx.connection)
    tx.add_rows(table, [(UUID(int=number), 0.5) for number in range(2)])

    tx.bulk_update(table, ("score",), [{"id": UUID(int=number), "score": float("inf")} for number in range(2)])

    assert list(tx.exec(select(table.c.score)).scalars()) == [float("inf")] * 2
