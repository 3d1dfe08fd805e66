"""Wire models of the lake (CONTRACT section 11)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out

MAX_QUERY_CHARS = 100_000
MAX_PARAMETERS = 1_000

Scalar = str | int | float | bool | None
ParameterValue = Scalar | list[Scalar]


class ColumnOut(Out):
    """A column: its name, and the type of its values in Arrow; an `enum` is a dictionary of texts."""

    name: str
    type: str


class DatasetOut(Out):
    """A data set that the caller may read: its columns, and how many rows the tenant has."""

    name: str
    rows: int
    columns: list[ColumnOut]


class DatasetsOut(Out):
    """The data sets that the caller may read."""

    items: list[DatasetOut]


class DatasetQuery(In):
    """Rows from `from` to before `to`; `columns` are names, separated by commas."""

    start: Moment | None = Field(default=None, alias="from")
    end: Moment | None = Field(default=None, alias="to")
    columns: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None


class QueryIn(In):
    """One SELECT over the data sets, with values for `?` (an array) or `$name` (an object)."""

    sql: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    parameters: (
        Annotated[list[ParameterValue], Field(max_length=MAX_PARAMETERS)]
        | Annotated[dict[str, ParameterValue], Field(max_length=MAX_PARAMETERS)]
        | None
    ) = None


class RowsOut(Out):
    """Rows with their columns; `truncated` if the result has more than the 10,000 rows that JSON has."""

    columns: list[ColumnOut]
    rows: list[list[object]]
    truncated: bool
