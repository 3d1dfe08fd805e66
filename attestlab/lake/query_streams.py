"""Queries of clients, run in a child process; their rows leave it in pieces, as Arrow (IPC stream) or JSON.

Neither process holds a whole result: DuckDB computes the next rows when the client has received those before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import duckdb
import orjson
import pyarrow as pa

from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.core.json_types import SqlParameters
from attestlab.core.table_files import TakenFile
from attestlab.lake import named_views, queries, views
from attestlab.lake.json_rows import describe_columns, render_rows
from attestlab.lake.query_errors import CONVERSION_ERRORS, explain_conversion, explain_error
from attestlab.lake.query_trees import refuse_sleeping_functions
from attestlab.lake.rules import MAX_JSON_ROWS, ClientQuery, DatasetRequest, LakeConnectionInfo, RowFormat
from attestlab.lake.sealed_connections import restore_duckdb_errors, translate_read_errors
from attestlab.lake.views import LakeView
from attestlab.policy.sql.compiler import quote_identifier

ROWS_A_BATCH = 20_480
PIECE_BYTES = 1 << 20


def stream_query(info: LakeConnectionInfo, query: ClientQuery, scopes: frozenset[str]) -> Generator[bytes]:
    """Yield the rows of a query; see `jobs.stream_query`."""
    lake = queries.open_lake(info)
    with _translate_errors(query.sql):
        with named_views.open_parser() as parser:
            refuse_sleeping_functions(parser, query.sql)
        rows = named_views.run_on_needed_views(
            lake,
            query.sql,
            partial(_execute, query=query.sql, parameters=query.parameters),
            scopes=scopes,
            has_plain_types=True,
        )
        yield from _encode(rows, query.format)


def stream_dataset(info: LakeConnectionInfo, request: DatasetRequest, scopes: frozenset[str]) -> Generator[bytes]:
    """Yield the rows of a data set; see `jobs.stream_dataset`."""
    view = views.BY_NAME.get(request.name)
    if view is None:
        raise NotFound("data set", request.name)
    named_views.require_readable(view, scopes)
    connection = queries.open_lake(info).open_views([view], has_plain_types=True)
    _require_columns(request.columns, connection.table(view.name).columns)
    query, parameters = _select_rows(view, request)
    with _translate_errors(query):
        yield from _encode(_execute(connection, query, parameters), request.format)


def _select_rows(view: LakeView, request: DatasetRequest) -> tuple[str, Mapping[str, object]]:
    columns = ", ".join(map(quote_identifier, request.columns)) or "*"
    bounds = {"start": (">=", request.start), "end": ("<", request.end)}
    given = {name: bound for name, bound in bounds.items() if bound[1] is not None}
    where = " AND ".join(f"{quote_identifier(view.time)} {operator} ${name}" for name, (operator, _) in given.items())
    query = f"SELECT {columns} FROM {view.name}" + (f" WHERE {where}" if where else "")
    if request.format is RowFormat.JSON:
        query += f" ORDER BY {quote_identifier(view.time)} DESC, {view.key} DESC LIMIT {MAX_JSON_ROWS + 1}"
    return query, {name: bound for name, (_, bound) in given.items()}


def _require_columns(wanted: Sequence[str], existing: Sequence[str]) -> None:
    if missing := [name for name in wanted if name not in existing]:
        message = f"There is no column {missing[0]!r}. The data set has {', '.join(existing)}."
        raise ValidationFailed.of("/columns", "unknown", message)


def _execute(connection: duckdb.DuckDBPyConnection, query: str, parameters: SqlParameters) -> pa.RecordBatchReader:
    """Begin a query; its rows are computed as they are read, which those of `connection.execute` are not."""
    queries.limit_memory()
    return connection.sql(query, params=parameters).to_arrow_reader(ROWS_A_BATCH)


def _encode(rows: pa.RecordBatchReader, row_format: RowFormat) -> Iterator[bytes]:
    pieces = _encode_json(rows) if row_format is RowFormat.JSON else _encode_arrow(rows)
    return _join_pieces(pieces)


def _encode_arrow(rows: pa.RecordBatchReader) -> Iterator[bytes]:
    """Yield the messages of an Arrow IPC stream: the schema, the batches of rows, the end."""
    sink = TakenFile()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        yield sink.take()
        for batch in rows:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


def _encode_json(rows: pa.RecordBatchReader) -> Iterator[bytes]:
    """Yield an object with the columns, at most `MAX_JSON_ROWS` rows, and whether there are more."""
    yield b'{"columns":' + orjson.dumps(describe_columns(rows.schema)) + b',"rows":['
    count, separator = 0, b""
    for batch in rows:
        shown = render_rows(batch.slice(0, MAX_JSON_ROWS - count))
        count += batch.num_rows
        if shown:
            yield separator + orjson.dumps(shown)[1:-1]
            separator = b","
        if count > MAX_JSON_ROWS:
            break
    yield b'],"truncated":' + (b"true" if count > MAX_JSON_ROWS else b"false") + b"}"


def _join_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join short pieces and divide long ones, into pieces of about a megabyte."""
    pending: list[bytes] = []
    for piece in pieces:
        pending.append(piece)
        if sum(map(len, pending)) >= PIECE_BYTES:
            yield from _divide(b"".join(pending))
            pending = []
    yield b"".join(pending)


def _divide(text: bytes) -> Iterator[bytes]:
    for start in range(0, len(text), PIECE_BYTES):
        yield text[start : start + PIECE_BYTES]


@contextmanager
def _translate_errors(query: str) -> Iterator[None]:
    """Translate the errors of DuckDB into those of a request."""
    try:
        with translate_read_errors(), queries.translate_resource_errors(), restore_duckdb_errors():
            yield
    except duckdb.Error as error:
        raise explain_error(error, query) from None
    except CONVERSION_ERRORS as error:
        raise explain_conversion(error) from None
