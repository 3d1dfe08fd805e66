"""Wire models of the lake (CONTRACT section 11)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out

MAX_QUERY_CHARS = 100_000
MAX_PARAMETERS = 1_000

Scalar = str | int | float | bool | None
ParameterValue = Scalar | list[Scalar]


class ColumnOut(Out, wire_name="lake_column", source="CONTRACT 11"):
    """A column: its name, and the type of its values in Arrow; an `enum` is a dictionary of texts."""

    name: str
    """The name of the column. Format: an SQL identifier."""
    type: str
    """The type of its values.
    Format: string, int64, double, boolean, timestamp, enum, list<string>, or a name of Arrow. Source: docs/lake.md.
    """


class DatasetOut(Out, wire_name="lake_dataset", source="CONTRACT 11"):
    """A data set that the caller may read: its columns, and how many rows the tenant has."""

    name: str
    """Its name in SQL. Format: a data set."""
    rows: int
    """How many rows the tenant has. Format: from 0."""
    columns: list[ColumnOut]
    """Its columns. Format: in their order."""


class DatasetsOut(Out, wire_name="lake_dataset_list", source="CONTRACT 11"):
    """The data sets that the caller may read."""

    items: list[DatasetOut]
    """The data sets that the caller may read. Format: by name."""


class DatasetQuery(In, wire_name="lake_dataset_query", source="CONTRACT 11"):
    """Rows from `from` to before `to`; `columns` are names, separated by commas."""

    start: Moment | None = Field(default=None, alias="from")
    """Only rows at or after this moment, by the time of the data set. Format: RFC 3339 date-time with an offset."""
    end: Moment | None = Field(default=None, alias="to")
    """Only rows before this moment. Format: RFC 3339 date-time with an offset."""
    columns: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None
    """Only these columns. Format: names, separated by commas."""


class QueryIn(In, wire_name="lake_query_input", source="CONTRACT 11"):
    """One SELECT over the data sets, with values for `?` (an array) or `$name` (an object)."""

    sql: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    """The query over the data sets. Format: one SELECT, 1-100000 characters."""
    parameters: (
        Annotated[list[ParameterValue], Field(max_length=MAX_PARAMETERS)]
        | Annotated[dict[str, ParameterValue], Field(max_length=MAX_PARAMETERS)]
        | None
    ) = None
    """The values for ? (an array) or $name (an object). Format: at most 1000 values."""


class RowsOut(Out, wire_name="lake_rows", source="CONTRACT 11"):
    """Rows with their columns; `truncated` if the result has more than the 10,000 rows that JSON has."""

    columns: list[ColumnOut]
    """The columns of the rows. Format: in order."""
    rows: list[list[object]]
    """The values of each row in the order of the columns. Format: at most 10000."""
    truncated: bool
    """Whether there are further rows. Format: true or false. Source: docs/lake.md."""
