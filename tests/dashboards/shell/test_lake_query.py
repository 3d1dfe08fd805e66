"""A query with its values in place: it runs as it stands, and a value stays a value."""

from __future__ import annotations

import duckdb
import pytest

from attestlab_dashboards.lake_query import LakeQuery, write_python

HOSTILE = ["'", "''", "x' OR 1=1 --", "\\", "\\'", '"', '"""', "$a", "$b", "é\n'", ""]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_of_a_copied_query_stays_a_value(value: str) -> None:
    query = LakeQuery.bind("SELECT $a AS a, $b AS b", {"a": value, "b": 7, "c": "unused"})

    assert query.parameters == {"a": value, "b": 7}
    assert duckdb.sql(query.to_sql()).fetchall() == [(value, 7)]


@pytest.mark.parametrize("value", HOSTILE)
def test_python_of_a_query_calls_the_facade_with_it(value: str) -> None:
    asked: list[str] = []

    class Frame:
        def df(self) -> None:
            pass

    class Asked:
        def sql(self, text: str) -> Frame:
            asked.append(text.strip())
            return Frame()

    sql = LakeQuery.bind("SELECT $a AS a", {"a": value}).to_sql()
    eval(write_python(sql), {"lab": Asked()})

    assert asked == [sql.strip()]
