"""Tables, statements and typed records: the seam between SQLAlchemy and the stores.

A store returns records: named tuples with the columns of its query, in their order. A record of a whole table stands
next to the table's SQLModel class. `_make` costs 0.6 us for 40 columns, as much as one access to a column by its name
on SQLAlchemy's row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from sqlalchemy import CursorResult, Table
from sqlmodel import SQLModel

Record = TypeVar("Record", bound=NamedTuple)

Result = CursorResult[*tuple[Any, ...]]  # SQLAlchemy types the rows of composed statements so

Execute = Callable[..., Result]
"""`connection.execute`, or `tx.exec`, which first sends the transaction's buffered inserts."""


def short_repr(kind: type[Record]) -> type[Record]:
    """Make the `repr` of a record its class and first column, because other columns may be secret or long."""

    def show(self: NamedTuple) -> str:
        return f"{type(self).__name__}({self[0]!r}, ...)"

    kind.__repr__ = show  # type: ignore[method-assign,assignment]
    return kind


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a class declared with `table=True`; SQLModel sets it but does not declare its type."""
    return cast(Table, model.__table__)  # type: ignore[attr-defined]


def fetch_one(result: Result, kind: type[Record]) -> Record | None:
    """Return the first row as a record, or None if there is no row; closes the result."""
    row = result.first()
    return None if row is None else kind._make(row)


def fetch_all(result: Result, kind: type[Record]) -> list[Record]:
    """Return all rows as records."""
    return list(map(kind._make, result))


def replace_columns(row: Record, changes: Mapping[str, object]) -> Record:
    """Return the record with other values in the columns that `changes` names."""
    return row._replace(**changes)


def iterate(result: Result, kind: type[Record]) -> Iterator[Record]:
    """Yield the rows as records, as the result fetches them."""
    return map(kind._make, result)
