"""Rows written to PostgreSQL by COPY: the same as by INSERT, refused alike, and rolled back alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    event,
    insert,
    select,
)
from sqlalchemy.exc import DataError, IntegrityError
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab import installation
from attestlab.core.db import copying
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from support.chain_heads import adding, heads, make_head, read_lengths
from support.property_tests import examples

pytestmark = pytest.mark.on_postgresql

ROWS = Table(
    "every_type",
    MetaData(),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("uuid", Uuid),
    Column("short", String(8)),
    Column("text", Text),
    Column("bytes", LargeBinary),
    Column("big", BigInteger),
    Column("at", UTCDateTime),
    Column("is_set", Boolean),
    Column("day", Date),
    Column("score", Double),
    prefixes=["TEMPORARY"],
)
TIMES = st.datetimes(
    datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))])
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.fixed_dictionaries(
    {
        "uuid": st.none() | st.uuids(),
        "short": st.none() | TEXTS.map(lambda text: text[:8]),
        "text": st.none() | TEXTS,
        "bytes": st.none() | st.binary(),
        "big": st.none() | st.integers(-(2**63), 2**63 - 1),
        "at": st.none() | TIMES,
        "is_set": st.none() | st.booleans(),
        "day": st.none() | st.dates(),
        "score": st.none() | st.floats(allow_nan=False) | st.integers(-100, 100),
    }
)


@pytest.fixture
def tx(storage: Storage) -> Iterator[Transaction]:
    """A transaction with a table of every type; it is rolled back."""
    transaction = storage.begin()
    ROWS.create(transaction.connection)
    yield transaction
    storage.rollback(transaction)


def make_row(number: int, **values: object) -> dict[str, object]:
    return {**dict.fromkeys(ROWS.columns.keys()), "id": number, **values}


def read_back(tx: Transaction) -> list[Any]:
    return list(tx.exec(select(ROWS).order_by(ROWS.c.id)))


def test_every_table_can_be_copied() -> None:
    assert installation, "it has declared the tables"

    for table in SQLModel.metadata.sorted_tables:
        assert len(copying._compile(table).types) == len(table.columns)


@pytest.mark.more_in_soak
def test_copied_rows_are_those_of_an_insert(tx: Transaction) -> None:
    @settings(max_examples=examples(20, many=500))
    @given(st.lists(VALUES, min_size=2, max_size=4))
    def check(values: list[dict[str, object]]) -> None:
        rows = [make_row(number, **each) for number, each in enumerate(values)]
        with tx.connection.begin_nested() as inserted:
            tx.connection.execute(insert(ROWS), rows)
            expected = read_back(tx)
            inserted.rollback()
        with tx.connection.begin_nested() as copied:
            for row in rows[1:]:
                tx.add(ROWS, row)
            tx.add_rows(ROWS, [tuple(rows[0].values())])
            assert read_back(tx) == expected
            copied.rollback()

    check()


def test_columns_of_a_row_may_come_in_any_order(tx: Transaction) -> None:
    for number in range(2):
        tx.add(ROWS, dict(reversed(make_row(number, text="a", day=date(2026, 11, 27)).items())))

    assert [(row.text, row.day) for row in read_back(tx)] == [("a", date(2026, 11, 27))] * 2


def test_more_rows_than_a_buffer_holds_are_copied(tx: Transaction) -> None:
    for number in range(2_000):
        tx.add(ROWS, make_row(number, bytes=bytes(200), uuid=UUID(int=number)))

    assert [row.uuid.int for row in read_back(tx)] == list(range(2_000))


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"at": datetime(2026, 11, 27)}, ValueError),
        ({"short": "nine char"}, DataError),
        ({"text": "\0"}, DataError),
        ({"text": "\ud800"}, UnicodeEncodeError),
    ],
    ids=["time without an offset", "long", "NUL", "surrogate"],
)
def test_refused_row_of_a_job_is_undone_alone(
    tx: Transaction, values: dict[str, object], error: type[Exception]
) -> None:
    def job(tx: Transaction) -> None:
        tx.add(ROWS, make_row(1, text="lost"))
        tx.add(ROWS, make_row(2, **values))
        tx.exec(select(1))

    tx.add(ROWS, make_row(0))
    with pytest.raises(error):
        tx.attempt_job(job)

    assert [row.id for row in read_back(tx)] == [0]


def test_copied_row_that_exists_fails_its_own_job(storage: Storage) -> None:
    def repeating(tx: Transaction) -> None:
        for name in ("a", "first", "b"):
            adding(name)(tx)
        tx.exec(select(1))

    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        with pytest.raises(IntegrityError):
            tx.attempt_job(repeating)
        tx.attempt_job(adding("second"))

    assert read_lengths(storage) == {"first": 0, "second": 0}


def test_rows_of_a_group_are_copied(storage: Storage) -> None:
    """A row alone is inserted: for one, COPY needs more messages."""
    statements: list[str] = []
    event.listen(storage.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))

    for count in (1, 2):
        with storage.write() as tx:
            for number in range(count):
                tx.add(heads, make_head(f"{count} {number}"))

    assert [text.partition(" ")[0] for text in statements if "chain_heads" in text] == ["INSERT", "COPY"]
