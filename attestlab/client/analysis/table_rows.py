"""The rows of what a person has: a data frame, an Arrow table, a file of CSV or Parquet, or dicts."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from datetime import date, datetime, time, tzinfo
from math import isnan
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from attestlab.client import arguments
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.suggestions import find_nearest

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ROWS_AT_ONCE = 10_000  # of a frame that become dicts
_MAX_NAMED = 5  # columns that an error names


class ArrowTable(Protocol):
    """A table in memory that Arrow reads: of pandas, Polars, pyarrow or DuckDB, or rows of a lab."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        ...


Table = ArrowTable | Iterable[Mapping[str, object]] | str | PathLike[str]
"""What has rows: a data frame, an Arrow table, dicts, or the path of a `.csv` or `.parquet` file."""


class TableColumns(NamedTuple):
    """The columns of a frame or file. Text in those of `numbers` and `objects` is read as such (JSON)."""

    required: Sequence[str]
    optional: Sequence[str] = ()
    numbers: Sequence[str] = ()
    objects: Sequence[str] = ()

    def read_row(self, row: Mapping[str, object]) -> dict[str, object]:
        """Return the members of a row: without empty cells, and with text read where it stands for something else."""
        return {name: self._read_cell(name, value) for name, value in row.items() if not _is_empty(value)}

    def _read_cell(self, name: str, value: object) -> object:
        kind = dict if name in self.objects else int | float if name in self.numbers else None
        if kind is None or not isinstance(value, str):
            return value
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):  # the row is refused for this text
            return value
        return found if isinstance(found, kind) else value


class TableRows(NamedTuple):
    """Rows, one after the other; `total` is their number, None if it is not known before they are read."""

    rows: Iterator[object]
    total: int | None


def read_rows(table: object, *, name: str, columns: TableColumns) -> TableRows:
    """Return the rows of a table. An empty cell of a frame or file is a member that its row lacks.

    Raises:
        ValidationFailed: it is no table, its file cannot be read, or a frame or file has other columns.
    """
    if isinstance(table, str | PathLike):
        return _read_path(arguments.find_file(table), name, columns)
    if hasattr(table, "to_dict") and hasattr(table, "iloc"):
        return _read_pandas(table, name, columns)
    if hasattr(table, "__arrow_c_stream__"):
        return _read_arrow(table, name, columns)
    total = len(table) if isinstance(table, Sized) else None
    return TableRows(arguments.iterate(table, name=name, of="dicts, a data frame, or the path of a file"), total)


def read_zone(tz: object) -> tzinfo | None:
    """Read a time zone: its name, an object of it, or None.

    Raises:
        ValidationFailed: it is none.
    """
    if tz is None or isinstance(tz, tzinfo):
        return tz
    if isinstance(tz, str):
        with suppress(ValueError, OSError, LookupError):  # no such zone, or no name of a file
            return ZoneInfo(tz)
    raise ValidationFailed(f"tz={arguments.show(tz)} is no time zone. Pass a name such as 'Europe/Zurich', or 'UTC'.")


def add_zone(when: object, zone: tzinfo | None, *, name: str) -> object:
    """Give a time without a UTC offset its zone; other values stay as they are.

    Raises:
        ValidationFailed: it has no UTC offset, and no zone is known.
    """
    found = _find_naive_time(when)
    if found is None:
        return when
    if zone is None:
        shown = found.isoformat()
        raise ValidationFailed(f"{name}={shown} has no UTC offset. Pass tz='UTC', or the zone that it is meant in.")
    return found.replace(tzinfo=zone)


def _find_naive_time(when: object) -> datetime | None:
    if isinstance(when, str):
        with suppress(ValueError):
            when = datetime.fromisoformat(when)
    if isinstance(when, date) and not isinstance(when, datetime):
        when = datetime.combine(when, time(0))
    if not isinstance(when, datetime) or when != when or when.tzinfo is not None:  # NaT differs from itself
        return None
    return when


def _read_path(path: Path, name: str, columns: TableColumns) -> TableRows:
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, name, columns)
    if path.suffix.lower() == ".csv":
        return TableRows(_iterate_csv(path, columns), None)
    raise ValidationFailed(f"{quote(fspath(path))} is neither a .csv nor a .parquet file, as its name says.")


def _iterate_csv(path: Path, columns: TableColumns) -> Iterator[dict[str, object]]:
    """Yield the rows of a CSV file with a line of names, in UTF-8, with numbers and JSON read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _require_columns(reader.fieldnames or [], quote(path.name), columns)
            for row in reader:
                yield columns.read_row({key or "": value for key, value in row.items() if value != ""})
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValidationFailed(f"{quote(path.name)} is no CSV file in UTF-8: {error}.") from None


def _read_parquet(path: Path, name: str, columns: TableColumns) -> TableRows:
    with naming_extras():
        import pyarrow as pa
        from pyarrow import parquet
    try:
        file = parquet.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise ValidationFailed(f"{quote(path.name)} is no Parquet file: {error}.") from None
    _require_columns(file.schema_arrow.names, name, columns)
    return TableRows(_iterate_batches(file.iter_batches(_ROWS_AT_ONCE), columns), file.metadata.num_rows)


def _read_arrow(table: object, name: str, columns: TableColumns) -> TableRows:
    with naming_extras():
        import pyarrow as pa
    try:
        reader = pa.RecordBatchReader.from_stream(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ValidationFailed(f"{name} is not readable as a table ({error}).") from None
    _require_columns(reader.schema.names, name, columns)
    return TableRows(_iterate_batches(reader, columns), len(table) if isinstance(table, Sized) else None)


def _iterate_batches(batches: Iterable[pa.RecordBatch], columns: TableColumns) -> Iterator[dict[str, object]]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            for row in batch.slice(start, _ROWS_AT_ONCE).to_pylist():
                yield columns.read_row(row)


def _read_pandas(frame: pd.DataFrame, name: str, columns: TableColumns) -> TableRows:
    _require_columns([str(column) for column in frame.columns], name, columns)

    def iterate() -> Iterator[dict[str, object]]:
        for start in range(0, len(frame), _ROWS_AT_ONCE):
            for row in frame.iloc[start : start + _ROWS_AT_ONCE].to_dict("records"):
                yield columns.read_row({str(key): value for key, value in row.items()})

    return TableRows(iterate(), len(frame))


def _is_empty(value: object) -> bool:
    """Whether a cell has no value: None, NaN, or the NA and NaT of pandas."""
    if isinstance(value, float):
        return isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _require_columns(found: Sequence[str], name: str, columns: TableColumns) -> None:
    known = (*columns.required, *columns.optional)
    if unknown := [column for column in found if column not in known]:
        close = find_nearest(unknown[0], known)
        hint = f" Did you mean `{close}`?" if close else f" The known ones are {', '.join(known)}."
        raise ValidationFailed(f"{name} has unknown columns: {_list_names(unknown)}.{hint} Rename or drop them.")
    if missing := [column for column in columns.required if column not in found]:
        raise ValidationFailed(f"{name} lacks the columns {_list_names(missing)}. Add them.")


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(quote, names[:_MAX_NAMED])) + more
