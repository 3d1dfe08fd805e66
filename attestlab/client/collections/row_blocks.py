"""Blocks of the rows of a table: by columns, to be encoded together, and row by row, as a caller's dicts are.

A row read alone is the judge of its values: what a column holds of another type, or for a row of another length, is
left to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from attestlab.client.collections.column_encoding import DETAILS, UtcTimes

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BLOCK_ROWS = 5_000
_SCORE = "score"
_EPOCH = datetime(1970, 1, 1)
_EXACT_TIMES = re.compile(r"datetime64\[[un]s(, .*)?\]")  # as pandas names their types
_NEVER_MISSING = frozenset({str, int, type(None)})
_UNUSUAL = object()  # a value that leaves its row to be read alone


class RowBlock(Protocol):
    """Some successive rows of a table."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def length(self) -> int:
        """The number of rows."""

    def read_columns(self) -> dict[str, Sequence[object]]:
        """Read all columns, whose names differ; None is no value."""

    def read_rows(self, places: Sequence[int]) -> Iterable[object]:
        """Read the rows at some places, in order."""


class CsvBlock(NamedTuple):
    """Rows of a CSV file; an empty cell is no value."""

    names: Sequence[str]
    rows: Sequence[list[str]]

    @property
    def length(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def read_columns(self) -> dict[str, Sequence[object]]:
        """Read the columns; a row that is too long is left to be read alone."""
        width = len(self.names)
        rows = [self._pad(row) if len(row) != width else row for row in self.rows]
        columns: dict[str, Sequence[object]] = {
            name: [cell or None for cell in column]
            for name, column in zip(self.names, zip(*rows, strict=True), strict=True)
        }
        if _SCORE in columns:
            columns[_SCORE] = [*map(_read_number, columns[_SCORE])]
        return columns

    def read_rows(self, places: Sequence[int]) -> Iterator[object]:
        """Read rows; one that is too long is no dict."""
        for place in places:
            row = self.rows[place]
            yield row if len(row) > len(self.names) else _read_cells(dict(zip(self.names, row, strict=False)))

    def _pad(self, row: Sequence[object]) -> list[object]:
        width = len(self.names)
        return [*row, *[None] * (width - len(row))] if len(row) < width else [_UNUSUAL, *[None] * (width - 1)]


class PandasBlock(NamedTuple):
    """Rows of a frame of pandas; a missing value of any of its kinds is no value."""

    names: Sequence[str]
    frame: pd.DataFrame

    @property
    def length(self) -> int:
        """The number of rows."""
        return len(self.frame)

    def read_columns(self) -> dict[str, Sequence[object]]:
        """Read the columns; times become `datetime`, those of a zone `UtcTimes`."""
        columns = (self.frame.iloc[:, place] for place in range(len(self.names)))
        return {name: _read_series(column) for name, column in zip(self.names, columns, strict=True)}

    def read_rows(self, places: Sequence[int]) -> Iterator[object]:
        """Read rows by their own values: a column of several types has no Arrow form, and one bad cell makes it one."""
        for row in self.frame.iloc[list(places)].itertuples(index=False, name=None):
            yield _read_details(
                {name: value for name, value in zip(self.names, row, strict=True) if not _is_missing(value)}
            )


class ArrowBlock(NamedTuple):
    """Rows of Arrow."""

    batch: pa.RecordBatch

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return list(self.batch.schema.names)

    @property
    def length(self) -> int:
        """The number of rows."""
        return int(self.batch.num_rows)

    def read_columns(self) -> dict[str, Sequence[object]]:
        """Read the columns; times become `datetime`, those of a zone `UtcTimes`."""
        return {name: _read_array(column) for name, column in zip(self.names, self.batch.columns, strict=True)}

    def read_rows(self, places: Sequence[int]) -> Iterator[object]:
        """Read rows."""
        is_whole = len(places) == self.length
        parts = [self.batch] if is_whole else (self.batch.slice(place, 1) for place in places)
        for part in parts:
            yield from map(_read_details, part.to_pylist())


def _read_series(series: pd.Series) -> Sequence[object]:
    if found := _EXACT_TIMES.fullmatch(str(series.dtype)):
        return _read_moments(series, has_zone=found[1] is not None)
    values: list[object] = series.to_numpy(dtype=object).tolist()
    kinds = {*map(type, values)}
    if kinds == {float}:
        return [value if value == value else None for value in values]
    return values if kinds <= _NEVER_MISSING else [None if _is_missing(value) else value for value in values]


def _read_moments(series: pd.Series, *, has_zone: bool) -> Sequence[object]:
    """Read times of a microsecond or finer; those beyond the calendar of `datetime` are left."""
    times = series.dt.tz_convert(None) if has_zone else series
    found = [
        time if time is None or isinstance(time, datetime) else _UNUSUAL
        for time in times.to_numpy().astype("datetime64[us]").tolist()
    ]
    return UtcTimes(found) if has_zone else found


def _read_array(array: pa.Array) -> Sequence[object]:
    import pyarrow as pa

    if not pa.types.is_timestamp(array.type):
        return cast("list[object]", array.to_pylist())
    try:
        counts = _count_microseconds(array)
        times = [None if count is None else _EPOCH + timedelta(microseconds=count) for count in counts]
    except (pa.ArrowException, OverflowError):  # beyond the calendar of `datetime`
        return [_UNUSUAL] * len(array)
    return times if array.type.tz is None else UtcTimes(times)


def _count_microseconds(array: pa.Array) -> list[int | None]:
    import pyarrow as pa
    from pyarrow import compute

    utc = array.cast(pa.timestamp(array.type.unit))
    whole = compute.floor_temporal(utc, unit="microsecond") if array.type.unit == "ns" else utc
    return cast("list[int | None]", whole.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist())


def _read_number(cell: object) -> object:
    """Read the number that a cell is; any other stays as it is."""
    try:
        return float(cast("str", cell))
    except (TypeError, ValueError):
        return cell


def _read_cells(row: Mapping[str, str]) -> dict[str, object]:
    """Read the cells of a CSV row; an empty one is missing."""
    found: dict[str, object] = {name: cell for name, cell in row.items() if cell}
    if _SCORE in found:
        found[_SCORE] = _read_number(found[_SCORE])
    return _read_details(found)


def _read_details(row: dict[str, object]) -> dict[str, object]:
    """Read details that are JSON text, as files and `lab.signals.df()` have them."""
    if isinstance(row.get(DETAILS), str):
        with suppress(ValueError, RecursionError):
            row[DETAILS] = json.loads(cast("str", row[DETAILS]))
    return row


def _is_missing(value: object) -> bool:
    """Whether pandas has no value here: None, NaN, NaT or NA."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")
