"""Frames from Arrow: pandas, Polars and DuckDB, with types that the columns decide and never the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from attestlab.core.extras import naming_extras

with naming_extras():
    import pyarrow as pa

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


def to_pandas(table: pa.Table, categories: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Convert to a data frame; `categories` are the values of enumerated columns, should no row have one.

    Whole numbers are `Int64` and truth values `boolean`, also without a missing one; times are UTC; texts are `str`;
    a status, tier, rating or verdict is an ordered category; a decimal is a float.
    """
    pandas = _load("pandas")
    frame: pd.DataFrame = _plain(table).to_pandas(
        types_mapper={
            pa.int64(): pandas.Int64Dtype(),
            pa.int32(): pandas.Int32Dtype(),
            pa.bool_(): pandas.BooleanDtype(),
        }.get
    )
    for name in frame.columns:
        if isinstance(frame[name].dtype, pandas.CategoricalDtype):
            has_values = len(frame[name].cat.categories) or name not in categories
            values = frame[name].cat.categories if has_values else categories[name]
            frame[name] = frame[name].astype(pandas.CategoricalDtype(values, ordered=True))
    return frame


def to_polars(table: pa.Table) -> pl.DataFrame:
    """Convert to a Polars frame."""
    frame: pl.DataFrame = _load("polars").from_arrow(_plain(table))
    return frame


def to_relation(table: pa.Table) -> duckdb.DuckDBPyRelation:
    """Convert to a lazy relation of a DuckDB connection that has nothing else."""
    with naming_extras():
        import duckdb

    connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    connection.execute("SET TimeZone = 'UTC'")
    return connection.from_arrow(table)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries are those of all its parts, and whose decimals are floats."""
    table = table.unify_dictionaries()
    for number, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.float64()))
    return table


def _load(name: str) -> ModuleType:
    with naming_extras():
        return import_module(name)
