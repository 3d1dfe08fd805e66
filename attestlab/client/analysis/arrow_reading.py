"""Rows of a service as Arrow: streamed over HTTP, or read from the lake of this process without a copy on the way."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from attestlab.client import arguments
from attestlab.client.arguments import show
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.json_types import SqlParameters

if TYPE_CHECKING:
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # of Arrow's IPC streaming format


class RowQuery(NamedTuple):
    """One SELECT; `dataset` is the data set that it calls `this`, if it reads only that one."""

    sql: str
    parameters: SqlParameters = None
    dataset: str | None = None
    frames: Mapping[str, pa.Table] | None = None  # tables of the caller, by the names that the query uses

    @property
    def is_whole_dataset(self) -> bool:
        """Whether it returns all rows of its data set."""
        return self.dataset is not None and self.sql == ALL_ROWS


ALL_ROWS = "SELECT * FROM this"
_NOT_AFTER_WITH = ("describe", "desc", "show", "summarize")  # words that begin a query, but none with a WITH


@contextmanager
def open_rows(client: ServiceClient, query: RowQuery) -> Iterator[pa.RecordBatchReader]:
    """Open the rows of a query.

    Raises:
        ValidationFailed: it is not one SELECT, DuckDB rejects it, or it has frames and another process runs it.
        PermissionDenied: the caller lacks the scope of a data set.
        Unavailable: it takes too much time or memory.
    """
    parameters = _read_parameters(query.parameters)
    local = client.open_local_rows(_name_this(query), parameters, query.frames or {})
    if local is None and query.frames:
        raise ValidationFailed(
            f"{show(next(iter(query.frames)))} is a frame of this process, and {client.place} runs the query. "
            "Read rows with `.rel()`, and join them here."
        )
    with local or _open_stream(client, query, parameters) as reader:
        yield reader


@contextmanager
def _open_stream(client: ServiceClient, query: RowQuery, parameters: SqlParameters) -> Iterator[pa.RecordBatchReader]:
    with naming_extras():
        import pyarrow as pa

    if query.is_whole_dataset:
        request = client.stream("GET", f"/v1/lake/datasets/{query.dataset}", accept=ARROW)
    else:
        body = {"sql": _name_this(query), "parameters": parameters}
        request = client.stream("POST", "/v1/lake/query", body=body, accept=ARROW)
    with request as pieces:
        try:
            source = PieceReader(pieces, client.place)
            with pa.ipc.open_stream(io.BufferedReader(source)) as reader:
                yield reader
            source.finish()
        except pa.ArrowInvalid as error:
            raise _broken_off(client.place) from error


class PieceReader(io.RawIOBase):
    """A file with an Arrow stream whose bytes arrive in pieces from a place, a service.

    Arrow reads a stream that ends between two batches as complete; it is not, unless it has the mark of its end. A
    proxy that lost the service may end the response as if it were whole.
    """

    def __init__(self, pieces: Iterator[bytes], place: str) -> None:
        self._pieces = pieces
        self._place = place
        self._rest = memoryview(b"")
        self._tail = b""

    def readable(self) -> bool:
        """Whether it can be read, which it can."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what BufferedReader passes
        """Read the next bytes into a buffer; returns their number, 0 at the end.

        Raises:
            Unavailable: the bytes end before the stream does.
        """
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                if self._tail != END_OF_STREAM:
                    raise _broken_off(self._place)
                return 0
            self._rest = memoryview(piece)
            self._tail = (self._tail + piece[-len(END_OF_STREAM) :])[-len(END_OF_STREAM) :]
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def finish(self) -> None:
        """Read the end of the response if all rows were read: then the connection serves the next request."""
        if self._tail == END_OF_STREAM:
            for _ in self._pieces:
                pass


def _broken_off(place: str) -> Unavailable:
    return Unavailable(f"{place} broke the rows off. Select fewer, or retry.")


def _name_this(query: RowQuery) -> str:
    """Give a query on one data set its `this`.

    >>> _name_this(RowQuery("with a as (select 1) select * from this", None, "signals"))
    'WITH this AS (SELECT * FROM signals), a as (select 1) select * from this'
    >>> _name_this(RowQuery("describe this;", None, "signals"))
    'WITH this AS (SELECT * FROM signals) SELECT * FROM (describe this)'
    """
    if query.dataset is None:
        return query.sql
    this, text = f"WITH this AS (SELECT * FROM {query.dataset})", query.sql.strip()
    word, *_ = text.lower().split(maxsplit=1)
    if word == "with":
        return f"{this}, {text[len(word) :].lstrip()}"
    if word in _NOT_AFTER_WITH:
        text = f"SELECT * FROM ({text.rstrip('; ')})"
    return f"{this} {text}"


def _read_parameters(parameters: SqlParameters) -> SqlParameters:
    """Read the values of a query; a time without an offset is ambiguous, so it is refused before either door."""
    if parameters is None:
        return None
    if isinstance(parameters, list | tuple):
        return [_read_parameter(f"parameters[{number}]", value) for number, value in enumerate(parameters)]
    named = arguments.read_mapping(parameters, name="parameters")
    return {name: _read_parameter(name, value) for name, value in named.items()}


def _read_parameter(name: str, value: object) -> object:
    return arguments.read_time(value, name=name) if isinstance(value, datetime) else value
