"""Workbooks for Excel: Office Open XML (ECMA-376) with one sheet, whose first line names the columns."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras

if TYPE_CHECKING:
    import polars as pl

MAX_SHEET_ROWS: Final = 1_048_575  # below the line of names, in any version of Excel
MAX_CELL_CHARACTERS: Final = 32_767  # Excel repairs, and so changes, a file with a longer text
SHEET: Final = "rows"
# A text never becomes a formula, or a link: what a row says is data of other people.
_OPTIONS: Final = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}


def write_workbook(frame: pl.DataFrame, file: Path) -> int:
    """Write a frame as a workbook with a filter on each column; returns the number of rows.

    Raises:
        ValidationFailed: there are more rows than a sheet of Excel has lines.
        MissingExtra: xlsxwriter is not installed.
    """
    if frame.height > MAX_SHEET_ROWS:
        raise ValidationFailed(
            f"There are {frame.height:,} rows, and a sheet of Excel has at most {MAX_SHEET_ROWS:,}."
            " Select fewer by a query, or write Parquet."
        )
    with naming_extras():
        workbooks = import_module("xlsxwriter")
    written = BytesIO()  # a disk that is full then raises an OSError, as for other files
    with workbooks.Workbook(written, _OPTIONS) as book:
        _fit_cells(frame).write_excel(book, SHEET, freeze_panes=(1, 0))
    file.write_bytes(written.getbuffer())
    return frame.height


def _fit_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame of what a cell holds: times in UTC without a zone, finite numbers, texts of bounded length."""
    import polars as pl
    import polars.selectors as cs

    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List) and not kind.inner.is_nested()]
    others = [name for name, kind in frame.schema.items() if kind.is_nested() and name not in lists]
    return frame.with_columns(
        cs.datetime(time_zone="*").dt.replace_time_zone(None),
        pl.when(cs.float().is_finite()).then(cs.float()),
        pl.col(lists).cast(pl.List(pl.String)).list.join(", ", ignore_nulls=True),
        (cs.categorical() | cs.enum()).cast(pl.String),
        cs.binary().bin.encode("hex"),
        *(pl.Series(name, map(str, frame[name].to_list()), dtype=pl.String) for name in others),
    ).with_columns(cs.string().str.slice(0, MAX_CELL_CHARACTERS))
