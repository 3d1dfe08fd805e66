"""No query of a client sleeps: functions that wait are refused by name, however the name is written."""

from __future__ import annotations

import duckdb
import httpx
import pytest

from attestlab.lake.query_trees import SLEEPING

pytestmark = pytest.mark.one_world


def ask(key: httpx.Client, sql: str) -> httpx.Response:
    return key.post("/v1/lake/query", json={"sql": sql})


@pytest.mark.parametrize(
    "sql",
    [
        "select pg_sleep(300)",
        'select system.main."Sleep_MS"(300000) as x',
        "select (300000).sleep_ms()",
        "select list_transform([300000], lambda ms: sleep_ms(ms))",
        "values (sleep_ms(300000))",
        "with recursive t(i) as (select 1 union all select 1 from t where pg_sleep(300) is null) from t",
        "from query('from query(''select pg_sleep(300)'')')",
        "from query('select pg_sl' || 'eep(300)')",
        "from json_execute_serialized_sql(json_serialize_sql('select pg_sl' || 'eep(300)')::varchar)",
        "pivot (select pg_sleep(300) as a, 1 as b) on a in (1) using sum(b)",
        "select pg_sleep(300)" + " + (1" * 400 + ")" * 400,
    ],
)
def test_a_query_that_could_sleep_is_400(key: httpx.Client, sql: str) -> None:
    answer = ask(key, sql)

    assert answer.status_code == 400, answer.text
    assert "which the lake refuses" in answer.text or "one text literal" in answer.text


def test_words_and_columns_of_these_names_are_harmless(key: httpx.Client) -> None:
    answer = ask(key, "select 'pg_sleep' as sleep_ms, query from query('select 1 as query')")

    assert answer.json()["rows"] == [["pg_sleep", 1]]


def test_every_function_of_duckdb_that_sleeps_is_known() -> None:
    """A newer DuckDB may have others; their names, definitions or descriptions say so."""
    found = duckdb.connect().execute(
        "select distinct function_name from duckdb_functions() where regexp_matches(concat_ws(' ', function_name,"
        " macro_definition, description), '(^|[^a-z])(sleep|wait|delay|pause)', 'i')"
    )
    assert {name for (name,) in found.fetchall()} == SLEEPING
