"""Rows of the lake in this process: the same queries on the same views as over HTTP, without a child process.

The connection is sealed like a server's, so a query behaves the same through both doors. DuckDB limits its buffers
(`sealed_connections.MEMORY_LIMIT`) and spills nothing to disk. There is no other limit of memory and none of time,
because the query runs in the process of the person who wrote it. One that a view of a notebook began ends at once when
that person cancels it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import duckdb
import pyarrow as pa

from attestlab.client.asynchronous.calls import let_cancel
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.json_types import SqlParameters
from attestlab.lake import named_views, views
from attestlab.lake.query_errors import CONVERSION_ERRORS, explain_conversion, explain_error
from attestlab.lake.relations import TenantLake
from attestlab.lake.sealed_connections import translate_read_errors

ROWS_A_BATCH = 100_000
_NAMES = "|".join(source.name for view in views.ALL for source in view.sources)
_TAKEN = re.compile(rf"this|({_NAMES})(_rows(_\d+)?)?", re.IGNORECASE)  # `_rows`: the tables below a data set


@contextmanager
def open_local_rows(
    lake: TenantLake, query: str, parameters: SqlParameters, frames: Mapping[str, object]
) -> Iterator[pa.RecordBatchReader]:
    """Run one SELECT over the data sets of a tenant and over `frames`; its rows are computed as they are read.

    Raises:
        ValidationFailed: it is not one SELECT, or DuckDB rejects it.
        Unavailable: a part of the lake is damaged.
    """
    for name in frames:
        _require_free(name)
    with _translate_errors(query):
        run = partial(_begin, query=query, parameters=parameters, frames=frames)
        connection, reader = named_views.run_on_needed_views(lake, query, run, has_plain_types=True)
        try:
            with let_cancel(connection.interrupt):
                yield reader
        finally:
            connection.close()


def _begin(
    connection: duckdb.DuckDBPyConnection, *, query: str, parameters: SqlParameters, frames: Mapping[str, object]
) -> tuple[duckdb.DuckDBPyConnection, pa.RecordBatchReader]:
    for name, frame in frames.items():
        connection.register(name, frame)
    with let_cancel(connection.interrupt):
        relation = connection.sql(query, params=parameters)
        return connection, relation.to_arrow_reader(ROWS_A_BATCH)


def _require_free(name: str) -> None:
    if _TAKEN.fullmatch(name):
        raise ValidationFailed(f"{quote(name)} names a data set. Give the frame another name, such as `mine`.")


@contextmanager
def _translate_errors(query: str) -> Iterator[None]:
    try:
        with translate_read_errors():
            yield
    except duckdb.Error as error:
        raise explain_error(error, query) from error
    except CONVERSION_ERRORS as error:
        raise explain_conversion(error) from None
