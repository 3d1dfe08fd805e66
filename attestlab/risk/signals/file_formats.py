"""File formats of exported signals, each encoded part by part: CSV (RFC 4180), JSON and Parquet.

All have the columns of a signal as the list shows it; only JSON nests the details, the others have them as JSON text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from attestlab.core.encoding import format_time
from attestlab.core.spreadsheet_cells import protect_cell
from attestlab.risk.rendering import render_signal
from attestlab.risk.signals.shapes import SignalOut
from attestlab.risk.signals.store import RiskSignalRecord

if TYPE_CHECKING:
    import pyarrow

COLUMNS = tuple(SignalOut.model_fields)


class SignalEncoder(Protocol):
    """Encodes a file from its signals."""

    def encode(self, rows: Sequence[RiskSignalRecord]) -> bytes:
        """Return the next part of the file, which is not empty."""

    def finish(self) -> bytes:
        """Return the end of the file, or all of a file without signals; the end may be empty."""


class FileFormat(NamedTuple):
    """A format: its media type, and how to make its encoder."""

    content_type: str
    encoder: Callable[[], SignalEncoder]


class CsvEncoder:
    """CSV with a header line. A text that a spreadsheet would run as a formula has an apostrophe before it.

    `has_bom` begins the file with a byte order mark, without which Excel takes UTF-8 for a local encoding.
    """

    def __init__(self, *, has_bom: bool = False) -> None:
        self._text = io.StringIO()
        self._text.write("\ufeff" if has_bom else "")
        self._writer = csv.writer(self._text)
        self._writer.writerow(COLUMNS)

    def encode(self, rows: Sequence[RiskSignalRecord]) -> bytes:
        """Return one line a signal."""
        self._writer.writerows(map(_list_cells, rows))
        return self._take()

    def finish(self) -> bytes:
        """Return the header line, if it was not returned yet."""
        return self._take()

    def _take(self) -> bytes:
        text = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return text.encode()


class JsonEncoder:
    """A JSON array of signals as the list shows them."""

    def __init__(self) -> None:
        self._separator = b"["

    def encode(self, rows: Sequence[RiskSignalRecord]) -> bytes:
        """Return the next elements, each on a line."""
        text = self._separator + b",\n".join(render_signal(row).model_dump_json().encode() for row in rows)
        self._separator = b",\n"
        return text

    def finish(self) -> bytes:
        """Return the end of the array."""
        return b"[]\n" if self._separator == b"[" else b"]\n"


class ParquetEncoder:
    """Parquet with one row group a part; pyarrow is loaded with the first encoder."""

    def __init__(self) -> None:
        import pyarrow.parquet

        self._arrow = pyarrow
        self._schema = _build_schema(pyarrow)
        self._file = _Taken()
        self._writer = pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def encode(self, rows: Sequence[RiskSignalRecord]) -> bytes:
        """Return a row group."""
        cells = [_list_values(row) for row in rows]
        columns = {name: [row[place] for row in cells] for place, name in enumerate(COLUMNS)}
        self._writer.write_table(self._arrow.table(columns, schema=self._schema))
        return self._file.take()

    def finish(self) -> bytes:
        """Return the footer."""
        self._writer.close()
        return self._file.take()


_CSV = "text/csv; charset=utf-8; header=present"
FORMATS = {
    "csv": FileFormat(_CSV, CsvEncoder),
    "csv with bom": FileFormat(_CSV, partial(CsvEncoder, has_bom=True)),
    "json": FileFormat("application/json", JsonEncoder),
    "parquet": FileFormat("application/vnd.apache.parquet", ParquetEncoder),
}


class _Taken(io.RawIOBase):
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


def _list_values(row: RiskSignalRecord) -> list[object]:
    """Return the values of a signal in the order of `COLUMNS`; ids are texts."""
    values = {**row._asdict(), "score_unit": round(row.score / 100, 6)}
    for name in ("id", "tenant_id", "case_id", "event_id", "replaces"):
        values[name] = None if values[name] is None else str(values[name])
    return [values[name] for name in COLUMNS]


def _list_cells(row: RiskSignalRecord) -> list[object]:
    """Return the cells of a signal in CSV."""
    moments = {"occurred_at": format_time(row.occurred_at), "created_at": format_time(row.created_at)}
    values = zip(COLUMNS, _list_values(row), strict=True)
    return [protect_cell(moments.get(name, value)) for name, value in values]


def _build_schema(arrow: ModuleType) -> pyarrow.Schema:
    moment = arrow.timestamp("us", tz="UTC")
    special = {"score": arrow.float64(), "score_unit": arrow.float64(), "occurred_at": moment, "created_at": moment}
    return arrow.schema([(name, special.get(name, arrow.string())) for name in COLUMNS])
