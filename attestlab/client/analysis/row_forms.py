"""`RowForms`: the forms in which a noun gives its rows, for `lab.attestations`, `lab.log` and the like."""

from __future__ import annotations

import builtins
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

from attestlab.client.analysis.arrow_reading import Parameters
from attestlab.client.analysis.rows import Rows
from attestlab.client.service_client import ServiceClient

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
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
        return self.rows.df()

    def arrow(self) -> pa.Table:
        """Read all rows as a pyarrow Table."""
        return self.rows.arrow()

    def pl(self) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
        return self.rows.pl()

    def rel(self) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
        return self.rows.rel()

    def sql(self, query: str, parameters: Parameters = None) -> Rows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
        return self.rows.sql(query, parameters)

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write all rows as one Parquet file, in bounded memory; returns their number."""
        return self.rows.to_parquet(path)

    @property
    def columns(self) -> builtins.list[str]:
        """The names of the columns."""
        return self.rows.columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        return self.rows.__arrow_c_stream__(requested_schema)
