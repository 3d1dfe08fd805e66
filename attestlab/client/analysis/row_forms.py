"""`RowForms`: the forms in which a noun gives its rows, for `lab.attestations`, `lab.log` and the like."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Unpack

from attestlab.client.analysis.refused_filters import point_to_list, refuse_filters
from attestlab.client.analysis.rows import Rows
from attestlab.client.collections.filters import OTHER_NAMES, describe_filters
from attestlab.client.own_examples import name_of_noun
from attestlab.client.service_client import ServiceClient
from attestlab.core.json_types import SqlParameters

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from attestlab.client.collections.filters import NoFilterArgs


class RowForms:
    """A noun whose rows the lake has; each method reads all of them, as they are when it is called."""

    dataset: ClassVar[str]  # its name in SQL
    _client: ServiceClient

    @property
    def rows(self) -> Rows:
        """All rows of the data set."""
        return Rows.of_dataset(self._client, self.dataset)

    def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`).

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each row of the data set, in no order; its columns are those of docs/lake.md.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the data set.
            MissingExtra: pandas is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> list(lab.issuers.df()) == lab.issuers.columns
        True
        """
        self._refuse(filters, "df")
        return self.rows.df()

    def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each row of the data set, in no order; its columns are those of docs/lake.md.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the data set.
            MissingExtra: pyarrow is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.arrow().column_names == lab.issuers.columns
        True
        """
        self._refuse(filters, "arrow")
        return self.rows.arrow()

    def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each row of the data set, in no order; its columns are those of docs/lake.md.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the data set.
            MissingExtra: polars is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.pl().columns == lab.issuers.columns
        True
        """
        self._refuse(filters, "pl")
        return self.rows.pl()

    def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process.

        Args:
            filters: none; the message says where they go.

        Returns:
            The rows, which are in memory; what is derived from the relation is computed when it is fetched.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the data set.
            MissingExtra: duckdb is not installed.
            Unavailable: the service cannot be reached, or has too many queries at once.

        >>> lab.issuers.rel().limit(0).columns == lab.issuers.columns
        True
        """
        self._refuse(filters, "rel")
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

    def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory.

        Args:
            path: of the file, which is replaced when all rows are written.
            filters: none; the message says where they go.

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
        self._refuse(filters, "to_parquet")
        return self.rows.to_parquet(path)

    def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`).

        Args:
            path: of the file, such as `rows.xlsx`, which is replaced when all rows are written.
            filters: none; the message says where they go.

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
        self._refuse(filters, "to_excel")
        return self.rows.to_excel(path)

    def _refuse(self, filters: Mapping[str, object], verb: str) -> None:
        if filters:
            noun, list_verb = f"lab.{name_of_noun(type(self))}", getattr(type(self), "list", None)
            known = describe_filters(list_verb) if list_verb else {}
            asked = {OTHER_NAMES.get(name, name): value for name, value in filters.items()}
            refuse_filters(filters, f"{noun}.{verb}", point_to_list(noun, asked, known))

    @property
    def columns(self) -> builtins.list[str]:
        """The names of the columns."""
        return self.rows.columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        return self.rows.__arrow_c_stream__(requested_schema)
