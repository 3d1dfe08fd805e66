"""Connections for the SQL of one tenant share an instance of DuckDB; no connection sees the tables of another."""

from __future__ import annotations

import tempfile
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa
import pytest

from attestlab.lake import sealed_connections
from attestlab.lake.sealed_connections import open_sealed

ROWS = {"signals_rows": [pa.table({"score": [1, 2]}), pa.table({"score": [3]})]}
VIEWS = {"signals": "SELECT score FROM signals_rows"}
_LIST_TABLES = "SELECT table_name FROM information_schema.tables UNION ALL SELECT view_name FROM duckdb_views()"


@pytest.mark.parametrize("owner", [None, uuid4()])
def test_reads_its_tables_and_nothing_else(owner: object) -> None:
    for _ in range(2):
        connection = open_sealed(ROWS, VIEWS, owner=owner)  # type: ignore[arg-type]  # parametrize has objects
        assert connection.execute("SELECT sum(score) FROM signals").fetchall() == [(6,)]
        assert connection.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
        with pytest.raises(duckdb.PermissionException):
            connection.execute("SELECT * FROM read_text('/etc/hostname')")
        for statement in ("SET TimeZone = 'CET'", "SET enable_external_access = true", "RESET memory_limit"):
            with pytest.raises(duckdb.Error, match="locked"):
                connection.execute(statement)


def test_names_no_folder_of_the_machine() -> None:
    """Neither a setting or a function without arguments, nor the error of one that would read a folder."""
    connection = open_sealed(ROWS, VIEWS, owner=uuid4())
    functions = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'"
    settings = "SELECT name FROM duckdb_settings()"
    queries = [
        *(f"SELECT current_setting('{name}')" for (name,) in connection.execute(settings).fetchall()),
        *(f"SELECT * FROM {name}()" for (name,) in connection.execute(functions).fetchall()),
        *("SELECT * FROM pg_catalog.pg_settings", "SELECT * FROM '~/x.parquet'", "SELECT * FROM glob('*')"),
    ]
    own = (str(Path.home()), str(Path.cwd()), tempfile.gettempdir())

    assert len(queries) > 200
    shown = {query: show(connection, query) for query in queries}
    assert [query for query, text in shown.items() if any(folder in text for folder in own)] == []


def show(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return the rows of a query as text, or its error."""
    try:
        return str(connection.execute(query).fetchall())
    except duckdb.Error as error:
        return str(error)


def test_sees_no_table_of_another_connection_of_its_tenant() -> None:
    owner = uuid4()
    first = open_sealed(ROWS, VIEWS, owner=owner)
    second = open_sealed({}, owner=owner)
    assert first.execute("SELECT count(*) FROM signals").fetchall() == [(3,)]
    own = {name for (name,) in second.execute(_LIST_TABLES).fetchall()}
    assert not own & {"signals", "signals_rows", "signals_rows_0", "signals_rows_1"}
    for name in ("signals", "signals_rows", "temp.main.signals", "memory.main.signals_rows_0"):
        with pytest.raises(duckdb.CatalogException):
            second.execute(f"SELECT * FROM {name}")


def test_tenants_share_no_instance() -> None:
    """What one writes into its instance, which no query can, the next connection of another tenant lacks."""
    owner, other = uuid4(), uuid4()
    open_sealed({}, owner=owner).execute("CREATE TABLE left_behind AS SELECT 1 AS one")
    assert open_sealed({}, owner=owner).execute("SELECT * FROM left_behind").fetchall() == [(1,)]
    with pytest.raises(duckdb.CatalogException):
        open_sealed({}, owner=other).execute("SELECT * FROM left_behind")
    with pytest.raises(duckdb.CatalogException):
        open_sealed({}, owner=owner).execute("SELECT * FROM left_behind")


def test_has_the_types_that_were_asked_for() -> None:
    owner = uuid4()
    for has_plain_types, expected in ((True, pa.string()), (False, pa.uuid()), (True, pa.string())):
        connection = open_sealed({}, has_plain_types=has_plain_types, owner=owner)
        assert connection.sql("SELECT uuid() AS id").arrow().schema.field("id").type == expected


def test_replaces_a_broken_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    """No SQL that we know breaks an instance, so the test raises what DuckDB raises in one."""
    owner, add_views, broken = uuid4(), sealed_connections._add_views, []
    open_sealed({}, owner=owner).execute("CREATE TABLE left_behind AS SELECT 1 AS one")

    def fail_once(*arguments: object) -> duckdb.DuckDBPyConnection:
        if not broken:
            broken.append(True)
            raise duckdb.FatalException("database has been invalidated because of a previous fatal error")
        return add_views(*arguments)  # type: ignore[arg-type]  # the arguments of the replaced function

    monkeypatch.setattr(sealed_connections, "_add_views", fail_once)
    with pytest.raises(duckdb.CatalogException):
        open_sealed({}, owner=owner).execute("SELECT * FROM left_behind")
