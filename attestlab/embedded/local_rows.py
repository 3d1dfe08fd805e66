"""Rows of the lake in this process: the same queries on the same views as over HTTP, without a child process.

The connection is sealed like a server's, so a query behaves the same through both doors. It has no limit of time or
memory, because it runs in the process of the person who wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import duckdb
import pyarrow as pa

from attestlab.lake import named_views
from attestlab.lake.query_errors import CONVERSION_ERRORS, explain_conversion, explain_error
from attestlab.lake.relations import TenantLake
from attestlab.lake.sealed_connections import translate_read_errors

Parameters = Sequence[object] | Mapping[str, object] | None
ROWS_A_BATCH = 100_000


@contextmanager
def open_local_rows(lake: TenantLake, query: str, parameters: Parameters) -> Iterator[pa.RecordBatchReader]:
    """Run one SELECT over the data sets of a tenant; its rows are computed as they are read.

    Raises:
        ValidationFailed: it is not one SELECT, or DuckDB rejects it.
        Unavailable: a part of the lake is damaged.
    """
    with _translate_errors(query):
        run = partial(_begin, query=query, parameters=parameters)
        connection, reader = named_views.run_on_needed_views(lake, query, run, has_plain_types=True)
        try:
            yield reader
        finally:
            connection.close()


def _begin(
    connection: duckdb.DuckDBPyConnection, *, query: str, parameters: Parameters
) -> tuple[duckdb.DuckDBPyConnection, pa.RecordBatchReader]:
    relation = connection.sql(query, params=parameters)
    return connection, relation.to_arrow_reader(ROWS_A_BATCH)


@contextmanager
def _translate_errors(query: str) -> Iterator[None]:
    try:
        with translate_read_errors():
            yield
    except duckdb.Error as error:
        raise explain_error(error, query) from error
    except CONVERSION_ERRORS as error:
        raise explain_conversion(error) from None
