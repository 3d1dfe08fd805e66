"""`Collection`: a noun of a lab. It iterates over the service's list, newest first, and finds an object by its id."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, overload

from attestlab.client import arguments
from attestlab.client.analysis.arrow_reading import Parameters
from attestlab.client.analysis.rows import DEFAULT_HEAD, Rows
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import NotFound, ValidationFailed

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Item = TypeVar("Item", bound=Handle)

# Filters whose names are words of Python or read better here than on the wire.
_WIRE_NAMES = {"from_": "from", "since": "from", "until": "to", "list_": "list"}


class Collection(Generic[Item]):
    """One noun of a lab, such as `lab.attestations`."""

    noun: ClassVar[str]  # singular, for messages
    path: ClassVar[str]

    def __init__(self, client: ServiceClient, item: type[Item]) -> None:
        self._client = client
        self._item = item

    def list(self, *, limit: int | None = None, **filters: object) -> Iterator[Item]:
        """Iterate over the objects that match the filters of the HTTP interface, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `status="VALID"`, `since="2026-11-01"`; None is no filter.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.
        """
        if limit is not None and limit < 0:
            raise ValidationFailed(f"limit is {limit}. Pass a number from 0.")
        asked = {_WIRE_NAMES.get(name, name): _read_filter(name, value) for name, value in filters.items()}
        found = (self._parse(answer) for answer in self._client.iterate(self.path, asked))
        return islice(found, limit)

    def __iter__(self) -> Iterator[Item]:
        return self.list()

    @overload
    def __getitem__(self, which: slice) -> builtins.list[Item]: ...  # type: ignore[overload-overlap]  # by id too

    @overload
    def __getitem__(self, which: object) -> Item: ...

    def __getitem__(self, which: object) -> Item | builtins.list[Item]:
        """Return the object with an id, the object at a position (newest first), or a list for a slice."""
        if isinstance(which, slice):
            return self._slice(which)
        if isinstance(which, int) and not isinstance(which, bool):
            return self._at(which)
        return self._find(which)

    def __repr__(self) -> str:
        return f"{type(self).__name__.removesuffix('Collection')} of {self._client.place}"

    def __dir__(self) -> builtins.list[str]:
        kinds = [kind for kind in type(self).__mro__ if kind.__module__.startswith("attestlab.client.")]
        return sorted(
            {name for kind in kinds for name in vars(kind) if not name.startswith("_")} - {"dataset", "noun", "path"}
        )

    def _find(self, which: object) -> Item:
        found = arguments.read_id(which, self.noun)
        return self._parse(self._client.get(f"{self.path}{path_of(found)}"))

    def _at(self, position: int) -> Item:
        if position < 0:
            raise ValidationFailed(
                f"There is no position {position}: the newest is 0, and the list has no end to count from."
            )
        found = next(islice(self.list(), position, None), None)
        if found is None:
            raise NotFound(f"{self.noun.partition(' ')[2]} at position", position)
        return found

    def _slice(self, which: slice) -> builtins.list[Item]:
        if any(part is not None and part < 0 for part in (which.start, which.stop, which.step)):
            raise ValidationFailed("A slice counts from the newest on; negative numbers have no meaning here.")
        return builtins.list(islice(self.list(), which.start, which.stop, which.step))

    def _parse(self, answer: object) -> Item:
        return self._item.parse(self._client, answer)


class DatasetCollection(Collection[Item]):
    """A noun whose rows the lake has too: iteration yields objects, and `df` and the like read rows."""

    dataset: ClassVar[str]  # its name in SQL

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

    def head(self, count: int = DEFAULT_HEAD) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
        return self.rows.head(count)

    @property
    def columns(self) -> builtins.list[str]:
        """The names of the columns."""
        return self.rows.columns

    def __len__(self) -> int:
        return len(self.rows)

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows by the Arrow PyCapsule interface."""
        return self.rows.__arrow_c_stream__(requested_schema)


def _read_filter(name: str, value: object) -> object:
    """Read a filter as a person writes it: times as text or dates, objects by their id."""
    if value is not None and _WIRE_NAMES.get(name, name) in ("from", "to"):
        return arguments.read_time(value, name=name)  # type: ignore[arg-type]  # it checks the type
    return getattr(value, "id", value)
