"""The columns of data sets: the type of each in Arrow, and its meaning for the data dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

TEXT, WHOLE, NUMBER, BOOL, TEXTS = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.string())
TIME = pa.timestamp("us", tz="UTC")


class Column(NamedTuple):
    """A column: its type, its meaning in the words of a field's (`web/openapi/meanings.py`), whether it may be null."""

    type: pa.DataType
    meaning: str
    nullable: bool = False


def list_types(columns: Mapping[str, Column]) -> dict[str, pa.DataType]:
    """List the types of columns by name."""
    return {name: column.type for name, column in columns.items()}
