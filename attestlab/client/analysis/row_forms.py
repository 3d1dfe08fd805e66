"""`RowForms`: the forms in which a noun gives its rows, for `lab.attestations`, `lab.log` and the like."""

from __future__ import annotations

import builtins
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

from attestlab.client.analysis.rows import Rows
from attestlab.client.service_client import ServiceClient
from attestlab.core.json_types import SqlParameters

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class RowForms:
    """A noun whose rows the lake has; each method reads all of them, as they are when it is called."""

    dataset: ClassVar[str]  # its name in SQL
    _client: ServiceClient

    @property
    def rows(self) -> Rows:
        """All rows of the data set."""
        return Rows.of_dataset(self._client, self.dataset)

    def df(self) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`).

        Returns:
            One row for each row of the data set, in no order; its columns are those of docs/lake.md.

        Raises:
            PermissionDenied: the caller may not read the data set.
            MissingExtra: pandas is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> list(lab.issuers.df()) == lab.issuers.columns
        True
        """
        return self.rows.df()

    def arrow(self) -> pa.Table:
        """Read all rows as a pyarrow Table.

        Returns:
            One row for each row of the data set, in no order; its columns are those of docs/lake.md.

        Raises:
            PermissionDenied: the caller may not read the data set.
            MissingExtra: pyarrow is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.arrow().column_names == lab.issuers.columns
        True
        """
        return self.rows.arrow()

    def pl(self) -> pl.DataFrame:
        """Read all rows as a Polars frame.

        Returns:
            One row for each row of the data set, in no order; its columns are those of docs/lake.md.

        Raises:
            PermissionDenied: the caller may not read the data set.
            MissingExtra: polars is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.pl().columns == lab.issuers.columns
        True
        """
        return self.rows.pl()

    def rel(self) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process.

        Returns:
            The rows, which are in memory; what is derived from the relation is computed when it is fetched.

        Raises:
            PermissionDenied: the caller may not read the data set.
            MissingExtra: duckdb is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.rel().limit(0).columns == lab.issuers.columns
        True
        """
        return self.rows.rel()

    def sql(self, query: str, parameters: SqlParameters = None) -> Rows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`.

        Args:
            query: one SELECT, or `describe this`, `summarize this`.
            parameters: values for `?` (a list) or `$name` (a dict).

        Returns:
            The rows of the result; nothing is read before a verb such as `df` wants them.

        Raises:
            ValidationFailed: it is no such query; when the rows are read.

        >>> list(lab.issuers.sql("select count(*) > 0 as some from this"))
        [{'some': True}]
        """
        return self.rows.sql(query, parameters)

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write all rows as one Parquet file, in bounded memory.

        Args:
            path: of the file, which is replaced when all rows are written.

        Returns:
            The number of rows that were written.

        Raises:
            ValidationFailed: the file cannot be written.
            PermissionDenied: the caller may not read the data set.
            MissingExtra: pyarrow is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.to_parquet("rows.parquet") == len(lab.issuers.rows)
        True
        """
        return self.rows.to_parquet(path)

    def to_excel(self, path: str | PathLike[str]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`).

        Args:
            path: of the file, such as `rows.xlsx`, which is replaced when all rows are written.

        Returns:
            The number of rows that were written.

        Raises:
            ValidationFailed: the file cannot be written, or there are more than 1,048,575 rows.
            PermissionDenied: the caller may not read the data set.
            MissingExtra: polars or xlsxwriter is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.to_excel("rows.xlsx") == len(lab.issuers.rows)
        True
        """
        return self.rows.to_excel(path)

    @property
    def columns(self) -> builtins.list[str]:
        """The names of the columns."""
        return self.rows.columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        return self.rows.__arrow_c_stream__(requested_schema)
