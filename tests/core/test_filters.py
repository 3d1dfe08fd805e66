"""A filter names its column once: SQLAlchemy and DuckDB find the same rows, and no field is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import product
from typing import Annotated

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Connection, DateTime, Integer, MetaData, String, Table, create_engine, select

from attestlab.core.filters import NO_CONDITION, Filters, Where, build_conditions, build_duckdb_condition
from support.property_tests import examples

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC).replace(tzinfo=None)
NAMES, SCORES = (None, "a", "b'"), (None, 0, 40, 100)
TIMES = (None, NOON, NOON + timedelta(microseconds=1))
ROWS = [(number, *row) for number, row in enumerate(product(NAMES, SCORES, TIMES))]
COLUMNS = (Column("n", Integer), Column("name", String), Column("score", Integer), Column("moment", DateTime))
TABLE = Table("rows", MetaData(), *COLUMNS)

Find = Callable[["RowFilters"], list[int]]


class Name(StrEnum):
    """A name as an enumeration, of which a database is sent the value."""

    A = "a"
    B = "b'"


class RowFilters(Filters):
    """Every comparison, and a field that has none."""

    name: Annotated[Name | None, Where("name")] = None
    score: Annotated[int | None, Where("score")] = None
    above: Annotated[int | None, Where("score", ">")] = None
    min_score: Annotated[int | None, Where("score", ">=")] = None
    below: Annotated[int | None, Where("score", "<")] = None
    max_score: Annotated[int | None, Where("score", "<=")] = None
    since: Annotated[datetime | None, Where("moment", ">=")] = None
    until: Annotated[datetime | None, Where("moment", "<")] = None
    limit: Annotated[int, NO_CONDITION] = 50


@pytest.fixture(scope="module")
def sqlite() -> Iterator[Connection]:
    with create_engine("sqlite://").connect() as connection:
        TABLE.create(connection)
        connection.execute(TABLE.insert(), [dict(zip(TABLE.c.keys(), row, strict=True)) for row in ROWS])
        yield connection


@pytest.fixture(scope="module")
def lake() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows (n INTEGER, name VARCHAR, score INTEGER, moment TIMESTAMP)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", ROWS)
        yield connection


@pytest.fixture(scope="module")
def find_in_both(sqlite: Connection, lake: duckdb.DuckDBPyConnection) -> Find:
    def find(filters: RowFilters) -> list[int]:
        in_sqlite = sqlite.scalars(select(TABLE.c.n).where(*build_conditions(filters, TABLE.c)).order_by(TABLE.c.n))
        sql, values = build_duckdb_condition(filters)
        in_lake = lake.execute(f"SELECT n FROM rows WHERE {sql} ORDER BY n", values).fetchall()
        found = [n for (n,) in in_lake]
        assert list(in_sqlite) == found
        return found

    return find


scores = st.none() | st.sampled_from([-1, 0, 40, 41, 100])
times = st.none() | st.sampled_from([NOON, NOON + timedelta(microseconds=1), NOON + timedelta(days=1)])


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=200), deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "name": st.none() | st.sampled_from(Name),
            **dict.fromkeys(("score", "above", "min_score", "below", "max_score"), scores),
            **dict.fromkeys(("since", "until"), times),
        }
    )
)
def test_sqlalchemy_and_duckdb_find_the_rows_that_each_filter_describes(
    find_in_both: Find, values: dict[str, object]
) -> None:
    found = find_in_both(RowFilters.model_validate(values))

    assert found == [row[0] for row in ROWS if _matches(values, *row[1:])]


def _matches(values: dict[str, object], name: object, score: object, moment: object) -> bool:
    holds = {
        "name": lambda value: name == value,
        "score": lambda value: score == value,
        "above": lambda value: score is not None and score > value,
        "min_score": lambda value: score is not None and score >= value,
        "below": lambda value: score is not None and score < value,
        "max_score": lambda value: score is not None and score <= value,
        "since": lambda value: moment is not None and moment >= value,
        "until": lambda value: moment is not None and moment < value,
    }
    return all(value is None or holds[name](value) for name, value in values.items())


def test_none_sets_no_condition(find_in_both: Find) -> None:
    assert build_conditions(RowFilters(limit=1), TABLE.c) == []
    assert build_duckdb_condition(RowFilters(limit=1)) == ("TRUE", [])
    assert find_in_both(RowFilters()) == list(range(len(ROWS)))


def test_an_enumeration_is_sent_as_its_value() -> None:
    _, (value,) = build_duckdb_condition(RowFilters(name=Name.B))

    assert type(value) is str


def test_a_field_without_a_declaration_is_refused_with_its_name() -> None:
    with pytest.raises(TypeError, match=r"Forgotten\.score declares no column"):

        class Forgotten(Filters):
            score: int | None = None


def test_a_field_of_another_base_needs_a_declaration_too() -> None:
    class Paged(Filters):
        limit: Annotated[int, NO_CONDITION] = 50

    with pytest.raises(TypeError, match=r"Scored\.score declares no column"):

        class Scored(Paged):
            score: int | None = None
