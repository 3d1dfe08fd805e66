"""Answers `show tables` with the data sets, and refuses the other lists of DuckDB's catalogue.

A connection has only the data sets that its query names, below names of this project, so DuckDB's own answer would be
an empty list, or names that no query may use. `describe signals` and `summarize signals` need nothing: they name one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import duckdb

from attestlab.core.errors import ValidationFailed
from attestlab.lake.query_trees import iterate_nodes, parse_query
from attestlab.policy.sql.compiler import literal

_MAY_LIST = re.compile(r"\b(?:show|describe|desc)\b", re.IGNORECASE)
_TABLES = '"tables"'  # DuckDB's name for the list of `show tables`
_OF_CATALOGUE = {"SHOW_SPECIAL", "SHOW_FROM"}


def lists_datasets(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether a query has `show tables`.

    Raises:
        ValidationFailed: it has another list of DuckDB's catalogue.
    """
    if not _MAY_LIST.search(query):
        return False
    try:
        nodes = [*iterate_nodes(parse_query(connection, query))]
    except ValueError:  # it is nested too deeply, and DuckDB says so
        return False
    listed = {str(node["table_name"]) for node in nodes if node.get("show_type") in _OF_CATALOGUE}
    if listed - {_TABLES}:
        message = "The query lists what no lab has. `show tables` lists the data sets, `describe signals` its columns."
        raise ValidationFailed.of("/sql", "query", message)
    return bool(listed)


def add_dataset_list(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Let `show tables` list these names: DuckDB reads them from two views of its catalogue, which these hide."""
    listed = ", ".join(map(literal, names))
    place = "'temp' AS database_name, 'main' AS schema_name"
    connection.execute(f"CREATE TEMP VIEW duckdb_views AS SELECT {place}, unnest([{listed}]::VARCHAR[]) AS view_name")
    connection.execute(f"CREATE TEMP VIEW duckdb_tables AS SELECT {place}, '' AS table_name WHERE false")
