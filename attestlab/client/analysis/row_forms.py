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

        >>> issuers = lab.issuers.df().set_index("name")
        >>> issuers.loc["Delta Clinics", "trust_tier"]
        'VERIFIED'
        """
        return self.rows.df()

    def arrow(self) -> pa.Table:
        """Read all rows as a pyarrow Table.

        >>> lab.cases.arrow().schema.field("max_score").type
        DataType(double)
        """
        return self.rows.arrow()

    def pl(self) -> pl.DataFrame:
        """Read all rows as a Polars frame.

        >>> lab.cases.pl()["entity_type"].unique().sort().to_list()
        ['device', 'document', 'ip', 'issuer', 'session', 'user']
        """
        return self.rows.pl()

    def rel(self) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process.

        >>> best = lab.issuers.rel().filter("trust_tier = 'ENTERPRISE'")
        >>> best.project("name").order("name").fetchall()
        [('Canton Archive',), ('Northfield University',)]
        """
        return self.rows.rel()

    def sql(self, query: str, parameters: SqlParameters = None) -> Rows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`.

        Args:
            query: one SELECT, or `describe this`, `summarize this`.
            parameters: values for `?` (a list) or `$name` (a dict).

        Raises:
            ValidationFailed: it is no such query; when the rows are read.

        >>> lab.signals.sql("select count(*) as n from this where source = 'media'").df()
            n
        0  60
        """
        return self.rows.sql(query, parameters)

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write all rows as one Parquet file, in bounded memory; returns their number.

        Args:
            path: of the file, which is replaced when all rows are written.

        Raises:
            ValidationFailed: the file cannot be written.

        >>> lab.cases.to_parquet("cases.parquet") == len(lab.cases)
        True
        """
        return self.rows.to_parquet(path)

    @property
    def columns(self) -> builtins.list[str]:
        """The names of the columns."""
        return self.rows.columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        return self.rows.__arrow_c_stream__(requested_schema)
