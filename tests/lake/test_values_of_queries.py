"""Every value that DuckDB can make is written, or refused with the name of its column; no query ends its process."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import httpx
import pytest

from attestlab.lake.rules import RowFormat

pytestmark = pytest.mark.one_world
ENGINE = duckdb.connect()
COLUMNS = [name for name, *_ in ENGINE.sql("describe from test_all_types()").fetchall()]
FUNCTIONS = [
    name
    for (name,) in ENGINE.execute(
        "select distinct function_name from duckdb_functions() where function_type in ('table', 'table_macro')"
        " order by all"
    ).fetchall()
]


def ask(key: httpx.Client, sql: str, row_format: RowFormat) -> httpx.Response:
    return key.post("/v1/lake/query", json={"sql": sql}, headers={"Accept": row_format})


def list_unexplained(key: httpx.Client, queries: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the queries that are neither answered nor refused with a reason."""
    for sql in queries:
        for row_format in RowFormat:
            answer = ask(key, sql, row_format)
            if answer.status_code not in (200, 400):
                yield sql, row_format.name, answer.text


def test_every_type_is_written_or_refused(key: httpx.Client) -> None:
    queries = ["from test_all_types()", *(f'select "{name}" from test_all_types()' for name in COLUMNS)]

    assert list(list_unexplained(key, queries)) == []


def test_every_table_function_without_arguments_is_answered_or_refused(key: httpx.Client, is_long: bool) -> None:
    names = FUNCTIONS if is_long else FUNCTIONS[::5]

    assert list(list_unexplained(key, [f"from {name}()" for name in names])) == []


def test_a_value_that_json_cannot_have_is_400_with_its_column(key: httpx.Client) -> None:
    sql = "select 1 as n, date '290000-01-01' as launch"
    refused = ask(key, sql, RowFormat.JSON)

    assert refused.status_code == 400
    assert "The column 'launch' has a value that JSON rows cannot have" in refused.json()["message"]
    assert "Cast the column to text, or request Arrow." in refused.json()["message"]
    assert ask(key, sql, RowFormat.ARROW).status_code == 200
    assert ask(key, "select cast(date '290000-01-01' as text)", RowFormat.JSON).json()["rows"] == [["290000-01-01"]]


@pytest.mark.parametrize("value", [10**60, -(2**127), 1e308, "\x00", [1, "a"], []])
def test_every_parameter_is_bound_or_refused(key: httpx.Client, value: object) -> None:
    answer = key.post("/v1/lake/query", json={"sql": "select ? as x", "parameters": [value]})

    assert answer.status_code in (200, 400), answer.text
