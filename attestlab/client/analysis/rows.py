"""`Rows`: the rows of a data set or of a query, in the form that an analyst wants. Nothing is read before that."""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from attestlab.client import arguments
from attestlab.client.analysis.arrow_reading import ALL_ROWS, RowQuery, open_rows
from attestlab.client.analysis.categories import list_categories
from attestlab.client.analysis.refused_filters import refuse_filters
from attestlab.client.analysis.row_iterator import RowIterator
from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code
from attestlab.client.file_replacement import replace_file
from attestlab.client.progress import show_progress
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.json_types import SqlParameters
from attestlab.core.short_text import shorten

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from attestlab.client.collections.filters import NoFilterArgs

DEFAULT_HEAD = 5
MAX_QUERY_CHARACTERS = 200  # of a repr
# The time by which the rows of a data set are ordered.
_TIMES = {
    "audit": "timestamp",
    "cases": "opened_at",
    "deliveries": "attempted_at",
    "log_entries": "log_index",
    "raw_events": "occurred_at",
    "receipts": "issued_at",
    "signals": "occurred_at",
    "verifications": "verified_at",
}


class Rows:
    """The rows of one query; each method reads them as they are when it is called."""

    def __init__(self, client: ServiceClient, query: RowQuery) -> None:
        self._client = client
        self._query = query
        self._begun: weakref.ref[RowIterator] | None = None  # the newest iteration

    @classmethod
    def of_dataset(cls, client: ServiceClient, name: str) -> Rows:
        """Return the rows of a data set."""
        return cls(client, RowQuery(ALL_ROWS, None, name))

    def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read the rows as a pyarrow Table.

        Args:
            filters: none; the message says where they go.

        Returns:
            A table of all rows.

        Raises:
            ValidationFailed: the query is not valid.
            PermissionDenied: the caller may not read a data set of it.
            MissingExtra: pyarrow is not installed.
            Unavailable: the service cannot be reached, or ended the query, which took too long or too much memory.

        >>> lab.sql("select name, domain from issuers").arrow().column_names
        ['name', 'domain']
        """
        self._refuse(filters, "arrow")
        with open_rows(self._client, self._query) as reader:
            return reader.read_all()

    def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the rows as a data frame.

        Whole numbers are `Int64`, truth values `boolean`, times UTC, texts `str`; a status, tier, rating or verdict is
        an ordered category. These types never depend on the rows.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each row of the query, in its order.

        Raises:
            MissingExtra: pandas is not installed.
            ValidationFailed, PermissionDenied, Unavailable: as from `arrow`.

        >>> lab.sql("select count(*) as n from decisions where created_at < '2026-11-02'").df()
              n
        0  5192
        """
        self._refuse(filters, "df")
        from attestlab.client.analysis import frames  # loads pyarrow, which no other verb needs

        return frames.to_pandas(self.arrow(), list_categories(self._query.dataset))

    def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read the rows as a Polars frame.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each row of the query, in its order.

        Raises:
            MissingExtra: polars is not installed.
            ValidationFailed, PermissionDenied, Unavailable: as from `arrow`.

        >>> names = lab.sql("select name from issuers where trust_tier = 'VERIFIED' order by name")
        >>> names.pl()["name"].to_list()
        ['Delta Clinics', 'Harbour Training', 'Rowing Club Aare']
        """
        self._refuse(filters, "pl")
        from attestlab.client.analysis import frames

        return frames.to_polars(self.arrow())

    def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read the rows as a DuckDB relation, to filter and join in this process.

        Args:
            filters: none; the message says where they go.

        Returns:
            The rows, which are in memory; what is derived from the relation is computed when it is fetched.

        Raises:
            MissingExtra: duckdb is not installed.
            ValidationFailed, PermissionDenied, Unavailable: as from `arrow`.

        >>> issuers = lab.sql("select name, trust_tier from issuers")
        >>> issuers.rel().filter("name = 'Maker Guild'").fetchall()
        [('Maker Guild', 'BASIC')]
        """
        self._refuse(filters, "rel")
        from attestlab.client.analysis import frames

        return frames.to_relation(self.arrow())

    def sql(self, query: str, parameters: SqlParameters = None) -> Rows:
        """Run a SELECT on these rows, which it calls `this`: `select status, count(*) from this group by all`.

        The service runs it: over HTTP bounded in time and memory, in process not. Pass values as `parameters`, for `?`
        or `$name`.

        Args:
            query: one SELECT, or `describe this`, `summarize this`.
            parameters: values for `?` (a list) or `$name` (a dict).

        Returns:
            The rows of the result; nothing is read before a verb such as `df` wants them.

        Raises:
            ValidationFailed: these rows are a query already; or, when the rows are read, it is no such query.

        >>> query = "select count(*) > 0 as some from this where verdict = ?"
        >>> list(lab.verifications.sql(query, ["VALID"]))
        [{'some': True}]
        """
        if self._query.dataset is None or not self._query.is_whole_dataset:
            raise ValidationFailed("These rows are a query already. Write one query, or continue with `.rel()`.")
        return Rows(self._client, RowQuery(require_text(query), parameters, self._query.dataset))

    def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write the rows as one Parquet file, in bounded memory; returns their number.

        A file that was there before is replaced when all rows are written, and otherwise stays as it is.

        Args:
            path: of the file.
            filters: none; the message says where they go.

        Raises:
            ValidationFailed: the file cannot be written.

        >>> lab.sql("select * from signals where source = 'media'").to_parquet("media.parquet")
        60
        """
        self._refuse(filters, "to_parquet")
        with replace_file(path) as draft:
            return self._write_parquet(draft)

    def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write the rows as a workbook of Excel with one sheet; returns their number.

        Times are in UTC, lists are texts, and of a text the first 32,767 characters are kept. No text becomes a
        formula. A file that was there before is replaced when all rows are written.

        Args:
            path: of the file, such as `rows.xlsx`.
            filters: none; the message says where they go.

        Raises:
            ValidationFailed: the file cannot be written, or there are more than 1,048,575 rows.
            MissingExtra: polars or xlsxwriter is not installed.

        >>> lab.sql("select * from signals where source = 'media'").to_excel("media.xlsx")
        60
        """
        self._refuse(filters, "to_excel")
        from attestlab.client.analysis.workbooks import write_workbook  # polars, which no other verb needs

        frame = self.pl()
        with replace_file(path) as draft:
            return write_workbook(frame, draft)

    def __getitem__(self, which: slice) -> Rows:
        """Return the rows of a slice; of a data set the newest first."""
        if not isinstance(which, slice):
            raise ValidationFailed(f"{arguments.show(which)} is no slice of rows. Pass one such as rows[:3].")
        arguments.require_slice(which)
        if which.step not in (None, 1):
            raise ValidationFailed(f"The step of the slice is {which.step}. Rows are read one after another: omit it.")
        start = arguments.read_count(which.start or 0, name="The begin of the slice")
        end = None if which.stop is None else arguments.read_count(which.stop, name="The end of the slice")
        limit = "" if end is None else f" LIMIT {max(0, end - start)}"
        return Rows(self._client, self._derive(f"SELECT * FROM ({{}}){self._order}{limit} OFFSET {start}"))

    def head(self, count: int = DEFAULT_HEAD, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the first rows; of a data set the newest.

        Args:
            count: how many at most.
            filters: none; the message says where they go.

        Returns:
            The first rows, with the types of `df`.

        Raises:
            ValidationFailed: `count` is no number from 0.

        >>> media = lab.sql("select source, score from signals where source = 'media' order by score")
        >>> media.head(2)
          source  score
        0  media   65.0
        1  media   65.0
        """
        self._refuse(filters, "head")
        count = arguments.read_count(count, name="The number of rows")
        return self[:count].df()

    @property
    def columns(self) -> builtins.list[str]:
        """The names of the columns."""
        with open_rows(self._client, self._derive("SELECT * FROM ({}) LIMIT 0")) as reader:
            return builtins.list(reader.schema.names)

    def __len__(self) -> int:
        """Count the rows. `list(rows)` begins an iteration, then asks how long it will be: that reads the rows once."""
        begun = None if self._begun is None else self._begun()
        count = None if begun is None else begun.read_ahead()
        if count is not None:
            return count
        with open_rows(self._client, self._derive("SELECT count(*) AS count FROM ({})")) as reader:
            return int(reader.read_all()["count"][0].as_py())

    def __iter__(self) -> Iterator[dict[str, object]]:
        begun = RowIterator(self._client, self._query)
        self._begun = weakref.ref(begun)
        return begun

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface, which DuckDB, Polars and pandas read."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Rows({self._name}: {shorten(repr(self._query.sql), MAX_QUERY_CHARACTERS)})"

    def _repr_html_(self) -> str:
        rows = [CardRow("Query", write_code(self._query.sql))]
        foot = join("Nothing is read yet: ", write_code("df()"), ", ", write_code("arrow()"), ", ", write_code("pl()"))
        return draw_card(CardTone.CALM, "ROWS", self._name, rows, foot=foot)

    def _refuse(self, filters: Mapping[str, object], verb: str) -> None:
        query = 'rows.sql("select * from this where ...")' if self._query.is_whole_dataset else "WHERE in its SQL"
        refuse_filters(filters, verb, f"Filter by {query}.")

    @property
    def _order(self) -> str:
        """The order in which the newest rows of a data set are the first; a query has its own."""
        if not self._query.is_whole_dataset:
            return ""
        return f' ORDER BY "{_TIMES.get(str(self._query.dataset), "created_at")}" DESC'

    @property
    def _name(self) -> str:
        return self._query.dataset or "query"

    def __dir__(self) -> builtins.list[str]:
        return sorted(name for name in vars(Rows) if not name.startswith("_") and name != "of_dataset")

    def _write_parquet(self, file: Path) -> int:
        with naming_extras():
            from pyarrow import parquet

        with (
            show_progress("Writing rows") as bar,
            open_rows(self._client, self._query) as reader,
            parquet.ParquetWriter(file, reader.schema, compression="zstd") as writer,
        ):
            for batch in reader:
                writer.write_batch(batch)
                bar.advance(batch.num_rows)
            return bar.done

    def _derive(self, template: str) -> RowQuery:
        """Return a query on the result of this one; `{}` is its place."""
        return self._query._replace(sql=template.format(self._query.sql.rstrip().rstrip(";")))


def get_query(rows: Rows) -> RowQuery:
    """Return the query whose rows these are, to show it."""
    return rows._query


def require_text(query: object) -> str:
    """Require SQL as text.

    Raises:
        ValidationFailed: it is something else.
    """
    if not isinstance(query, str) or not query.strip():
        raise ValidationFailed(f"{arguments.show(query)} is no SQL. Pass one SELECT as text.")
    return arguments.read_text(query, name="The query")
