"""Finds the data sets that a query names, and opens a connection that has those and no others.

DuckDB itself decides which tables a query reads: a first guess is parsed from the text, then DuckDB begins the query,
and a data set that it misses is added. So subqueries, CTEs with a data set's name and table functions are treated
as the query's execution treats them. A data set that the caller may not read is never opened.

`show tables` lists the data sets; the other lists of DuckDB's catalogue are refused. A connection has only the data
sets that its query names, below names of this project, so DuckDB's own answer would be an empty list, or names that no
query may use. `describe signals` and `summarize signals` need nothing: they name one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import TypeVar

import duckdb

from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.lake import views
from attestlab.lake.query_trees import iterate_nodes, parse_query
from attestlab.lake.relations import TenantLake
from attestlab.lake.sealed_connections import open_sealed, require_one_query
from attestlab.lake.views import LakeView
from attestlab.policy.sql.compiler import literal

Result = TypeVar("Result")

EXAMPLE = "select count(*) from signals"
_PARAMETER = re.compile(r"\$\w+|\?")
_MISSING_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')


def run_on_needed_views(
    lake: TenantLake,
    query: str,
    run: Callable[[duckdb.DuckDBPyConnection], Result],
    *,
    scopes: Collection[str] | None = None,
    has_plain_types: bool = False,
) -> Result:
    """Run a query on a sealed connection that has the data sets that it names, all as of one moment.

    `run` begins the query. `scopes` are those of the caller; None is every scope. For `has_plain_types` see
    `open_sealed`.

    Raises:
        ValidationFailed: it is not exactly one query, or not SQL.
        PermissionDenied: the caller lacks the scope of a data set that the query reads; `details` names both.
        duckdb.Error: DuckDB rejects the query.
    """
    with open_parser() as parser:
        require_one_query(parser, query, example=EXAMPLE)
        has_list = lists_datasets(parser, query)
        wanted = [view for view in _guess_views(parser, query) if is_readable(view, scopes)]
    while True:
        try:
            connection = lake.open_views(wanted, has_plain_types=has_plain_types)
            if has_list:
                add_dataset_list(connection, (view.name for view in views.ALL if is_readable(view, scopes)))
            return run(connection)
        except duckdb.CatalogException as error:
            missing = _find_missing_view(error)
            if missing is None or missing in wanted:
                raise
            require_readable(missing, scopes)
            wanted.append(missing)


def is_readable(view: LakeView, scopes: Collection[str] | None) -> bool:
    """Whether a caller with these scopes may read a data set."""
    return scopes is None or view.scope is None or view.scope in scopes


def require_readable(view: LakeView, scopes: Collection[str] | None) -> None:
    """Require that a caller with these scopes may read a data set.

    Raises:
        PermissionDenied: a scope is missing.
    """
    if not is_readable(view, scopes):
        message = f"The data set {view.name} requires the scope {view.scope}."
        raise PermissionDenied(message, details={"required_scope": str(view.scope), "data_set": view.name})


def open_parser() -> duckdb.DuckDBPyConnection:
    """Open a connection that parses queries and runs none."""
    return _open_empty_instance().cursor()


@cache
def _open_empty_instance() -> duckdb.DuckDBPyConnection:
    return open_sealed({})


def _guess_views(connection: duckdb.DuckDBPyConnection, query: str) -> list[LakeView]:
    """Return the data sets that the text names; perhaps not all of them. DuckDB finds none where parameters are."""
    try:
        names = connection.get_table_names(_PARAMETER.sub("NULL", query))
    except duckdb.Error:
        return []
    return [view for view in views.ALL if view.name in {name.lower() for name in names}]


def _find_missing_view(error: duckdb.CatalogException) -> LakeView | None:
    """Return the data set that a query names and its connection lacks."""
    found = _MISSING_TABLE.search(str(error))
    return views.BY_NAME.get(found[1].lower()) if found else None


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
