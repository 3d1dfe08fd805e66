"""Tables, statements and typed records: the seam between SQLAlchemy and the stores.

A store returns records: named tuples with the columns of its query, in their order. The record of a whole table
declares the table, and `model_of` derives its SQLModel class. `_make` costs 0.6 us for 40 columns, as much as one
access to a column by its name on SQLAlchemy's row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from types import NoneType, UnionType, new_class
from typing import Annotated, Any, Final, NamedTuple, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, Executable, Index, Table
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlmodel import SQLModel
from sqlmodel.main import FieldInfo

Record = TypeVar("Record", bound=NamedTuple)

ONLY_ON: Final = "only on"  # in the `info` of an index, the engine that alone has it
TableRow = Mapping[str, object] | tuple[object, ...]  # by column, or the values of all columns in their order
Columns = ReadOnlyColumnCollection[str, ColumnElement[object]]
UpsertChange = Callable[[Columns], dict[str, object]]  # what an upsert sets, by the columns of the rejected insert
Result = CursorResult[*tuple[Any, ...]]  # SQLAlchemy types the rows of composed statements so


class Execute(Protocol):
    """`connection.execute`, or `tx.exec`, which first sends the transaction's buffered inserts."""

    def __call__(self, statement: Executable, parameters: Any = None, /) -> Result: ...  # SQLAlchemy's type is private


def short_repr(kind: type[Record]) -> type[Record]:
    """Make the `repr` of a record its class and first column, because other columns may be secret or long."""

    def show(self: NamedTuple) -> str:
        return f"{type(self).__name__}({self[0]!r}, ...)"

    kind.__repr__ = show  # type: ignore[method-assign,assignment]
    return kind


def only_on(dialect: str, index: Index) -> Index:
    """Declare an index for one of the two engines; `migrations.models` leaves it out on the other."""
    index.info[ONLY_ON] = dialect
    index.ddl_if(dialect=dialect)
    return index


def model_of(record: type[NamedTuple], table: str, *indexes: Index, **options: object) -> type[SQLModel]:
    """Derive the SQLModel class of a table from the record that declares its columns.

    A field is a column of the same name, order and type. `Annotated[str, Field(max_length=64)]` declares the rest, with
    SQLModel's `Field`; a column is nullable if its type admits None. The class has the name of the record without
    `Record`, and its docstring. A default of the record is for those who make a record; the column has none.
    `options` are SQLAlchemy's options of a table, such as `sqlite_with_rowid=False`. The condition of a partial index
    is declared for SQLite (`sqlite_where`); `migrations.models` gives PostgreSQL the same.

    Raises:
        TypeError: The table cannot be declared so; the message names the table and the field.
    """
    columns = get_type_hints(record, include_extras=True)
    for name, declared in columns.items():
        _require_column(f"{table}.{name}", declared)
    members = {
        "__module__": record.__module__,
        "__doc__": record.__doc__,
        "__annotations__": columns,
        "__tablename__": table,
        "__table_args__": (*indexes, options),
    }
    try:
        name = record.__name__.removesuffix("Record")
        return cast(type[SQLModel], new_class(name, (SQLModel,), {"table": True}, lambda body: body.update(members)))
    except (SQLAlchemyError, TypeError) as error:
        raise TypeError(f"The table {table} cannot be declared: {error}") from error


_COLUMN_TYPES: Final = (bool, bytes, date, datetime, float, int, str, UUID)


def _require_column(column: str, declared: object) -> None:
    """Require that the type of a record's field, with what annotates it, declares a column."""
    kind, *extras = get_args(declared) if get_origin(declared) is Annotated else [declared]
    kinds = [one for one in get_args(kind) if one is not NoneType] if isinstance(kind, UnionType) else [kind]
    if len(kinds) != 1 or kinds[0] not in _COLUMN_TYPES:
        allowed = ", ".join(one.__name__ for one in _COLUMN_TYPES)
        raise TypeError(f"The column {column} has the type {kind}; declare one of {allowed}, or one of them with None.")
    for extra in extras:
        if not isinstance(extra, FieldInfo):
            raise TypeError(f"The column {column} is annotated with {extra!r}; annotate it with SQLModel's Field(...).")
        if not extra.is_required():
            raise TypeError(f"The column {column} has a default in Field(...); write it after the field: `= default`.")


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
