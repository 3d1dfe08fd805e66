"""Files of rows, each encoded part by part: CSV (RFC 4180), JSON and Parquet.

A `RowShape` says which columns a kind of rows has; only JSON nests members, the others have texts of JSON.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from attestlab.core.encoding import format_time
from attestlab.core.spreadsheet_cells import protect_cell

Row = TypeVar("Row")
Contra = TypeVar("Contra", contravariant=True)


@dataclass(frozen=True)
class RowShape(Generic[Row]):
    """The columns of a kind of rows.

    `list_values` returns the values of a row in the order of the columns, with ids and objects as texts; `to_json`
    returns the row as a JSON object. `types` are those of columns that are no texts: `time`, `int` or `float`.
    """

    columns: tuple[str, ...]
    list_values: Callable[[Row], Sequence[object]]
    to_json: Callable[[Row], bytes]
    types: Mapping[str, str] = field(default_factory=dict)


class RowEncoder(Protocol[Contra]):
    """Encodes a file from its rows."""

    def encode(self, rows: Sequence[Contra]) -> bytes:
        """Return the next part of the file, which is not empty."""

    def finish(self) -> bytes:
        """Return the end of the file, or all of a file without rows; the end may be empty."""


class FileFormat(NamedTuple, Generic[Row]):
    """A format: its media type, and how to make its encoder."""

    content_type: str
    encoder: Callable[[], RowEncoder[Row]]


class CsvEncoder(Generic[Row]):
    """CSV with a header line. A text that a spreadsheet would run as a formula has an apostrophe before it.

    `has_bom` begins the file with a byte order mark, without which Excel takes UTF-8 for a local encoding.
    """

    def __init__(self, shape: RowShape[Row], *, has_bom: bool = False) -> None:
        self._shape = shape
        self._text = io.StringIO()
        self._text.write("\ufeff" if has_bom else "")
        self._writer = csv.writer(self._text)
        self._writer.writerow(shape.columns)

    def encode(self, rows: Sequence[Row]) -> bytes:
        """Return one line a row."""
        self._writer.writerows(map(self._list_cells, rows))
        return self._take()

    def finish(self) -> bytes:
        """Return the header line, if it was not returned yet."""
        return self._take()

    def _list_cells(self, row: Row) -> list[object]:
        values = self._shape.list_values(row)
        return [protect_cell(format_time(value) if isinstance(value, datetime) else value) for value in values]

    def _take(self) -> bytes:
        text = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return text.encode()


class JsonEncoder(Generic[Row]):
    """A JSON array of rows as the list shows them."""

    def __init__(self, shape: RowShape[Row]) -> None:
        self._shape = shape
        self._separator = b"["

    def encode(self, rows: Sequence[Row]) -> bytes:
        """Return the next elements, each on a line."""
        text = self._separator + b",\n".join(map(self._shape.to_json, rows))
        self._separator = b",\n"
        return text

    def finish(self) -> bytes:
        """Return the end of the array."""
        return b"[]\n" if self._separator == b"[" else b"]\n"


class ParquetEncoder(Generic[Row]):
    """Parquet with one row group a part; pyarrow is loaded with the first encoder."""

    def __init__(self, shape: RowShape[Row]) -> None:
        import pyarrow.parquet

        self._arrow, self._shape = pyarrow, shape
        types = {"time": pyarrow.timestamp("us", tz="UTC"), "float": pyarrow.float64(), "int": pyarrow.int64()}
        self._schema = pyarrow.schema(
            [(name, types.get(shape.types.get(name, ""), pyarrow.string())) for name in shape.columns]
        )
        self._file = TakenFile()
        self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def encode(self, rows: Sequence[Row]) -> bytes:
        """Return a row group."""
        cells = [self._shape.list_values(row) for row in rows]
        columns = {name: [row[place] for row in cells] for place, name in enumerate(self._shape.columns)}
        self._writer.write_table(self._arrow.table(columns, schema=self._schema))
        return self._file.take()

    def finish(self) -> bytes:
        """Return the footer."""
        self._writer.close()
        return self._file.take()


CSV, JSON, PARQUET = "text/csv; charset=utf-8; header=present", "application/json", "application/vnd.apache.parquet"


def list_formats(shape: RowShape[Row]) -> dict[str, FileFormat[Row]]:
    """List the formats of a kind of rows by name."""
    return {
        "csv": FileFormat(CSV, partial(CsvEncoder, shape)),
        "csv with bom": FileFormat(CSV, partial(CsvEncoder, shape, has_bom=True)),
        "json": FileFormat(JSON, partial(JsonEncoder, shape)),
        "parquet": FileFormat(PARQUET, partial(ParquetEncoder, shape)),
    }


def encode_pages(pages: Iterator[Sequence[Row]], file_format: FileFormat[Row]) -> Iterator[bytes]:
    """Yield a file in parts, one for each page of rows; only the last part may be empty."""
    encoder = file_format.encoder()
    for rows in pages:
        yield encoder.encode(rows)
    yield encoder.finish()


class TakenFile(io.RawIOBase):
    """A file that is written only; what was written is taken and forgotten."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, piece: object) -> int:
        raw = bytes(memoryview(piece))  # type: ignore[arg-type]  # pyarrow's own buffers
        self._pieces.append(raw)
        self._position += len(raw)
        return len(raw)

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
