"""`RowIterator`: the rows of a query one by one, from batches that arrive as they are needed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from threading import Lock
from typing import TYPE_CHECKING

from attestlab.client.analysis.arrow_reading import RowQuery, open_rows
from attestlab.client.service_client import ServiceClient

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, object]


class RowIterator(Iterator[Row]):
    """The rows of one query as dicts; nothing is read before the first row is wanted.

    One batch is read ahead, so a short answer has arrived completely with its first row, and its connection serves the
    next request. An iterator of a long answer that is left early breaks it off when it is closed or collected.
    """

    def __init__(self, client: ServiceClient, query: RowQuery) -> None:
        self._client = client
        self._query = query
        self._lock = Lock()  # protects the choice of `_rows`, which is made once
        self._rows: Generator[Row] | None = None

    def __next__(self) -> Row:
        with self._lock:
            if self._rows is None:
                self._rows = self._stream()
        return next(self._rows)

    def read_ahead(self) -> int | None:
        """Read all rows into memory if none was read yet, and return their number; otherwise return None."""
        with self._lock:
            if self._rows is not None:
                return None
            with open_rows(self._client, self._query) as reader:
                table = reader.read_all()
            self._rows = _yield_rows(table)
        return int(table.num_rows)

    def close(self) -> None:
        """End the iteration, and close the response if rows are missing; may be called again."""
        with self._lock:
            if self._rows is None:
                self._rows = self._stream()
            self._rows.close()

    def _stream(self) -> Generator[Row]:
        ahead: pa.RecordBatch | None = None
        with open_rows(self._client, self._query) as reader:
            for batch in reader:
                if ahead is not None:
                    yield from ahead.to_pylist()
                ahead = batch
        if ahead is not None:
            yield from ahead.to_pylist()


def _yield_rows(table: pa.Table) -> Generator[Row]:
    for batch in table.to_batches():
        yield from batch.to_pylist()
