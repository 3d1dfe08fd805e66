"""Conditions on lists of ids: more than a database binds one by one, and each row that has one of them."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Uuid, select

from attestlab.core.db.conditions import is_among
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction

ROWS = Table(
    "numbered", MetaData(), Column("id", Uuid, primary_key=True), Column("number", Integer), prefixes=["TEMPORARY"]
)
MORE_THAN_ARE_BOUND = 70_000  # PostgreSQL binds 65,535 values, SQLite 32,766


@pytest.fixture
def tx(storage: Storage) -> Iterator[Transaction]:
    """A transaction with a table of ten ids; it is rolled back."""
    transaction = storage.begin()
    ROWS.create(transaction.connection)
    for number in range(10):
        transaction.add_rows(ROWS, [(UUID(int=number), number)])
    yield transaction
    storage.rollback(transaction)


@pytest.mark.both_engines
def test_a_list_may_be_longer_than_what_a_database_binds(tx: Transaction) -> None:
    ids = [UUID(int=number) for number in range(7, MORE_THAN_ARE_BOUND)]

    found = tx.exec(select(ROWS.c.id).where(is_among(ROWS.c.id, ids)).order_by(ROWS.c.id)).scalars()

    assert list(found) == ids[:3]


@pytest.mark.both_engines
@pytest.mark.parametrize("numbers", [[], [3], [3, 3, 5, 99]])
def test_each_row_comes_once_and_a_statement_serves_every_list(tx: Transaction, numbers: list[int]) -> None:
    query = select(ROWS.c.id).where(is_among(ROWS.c.id, "wanted")).order_by(ROWS.c.id)

    for wanted in (numbers, range(10)):
        found = tx.exec(query, {"wanted": [UUID(int=number) for number in wanted]}).scalars()
        assert list(found) == [UUID(int=number) for number in sorted({*wanted} & {*range(10)})]
