"""Rows written to PostgreSQL by binary COPY: one message for many rows, where an INSERT needs several for each.

At each message the thread of a group may lose the interpreter to the event loop, while it holds the writers' lock.
Only the protocol differs: COPY checks constraints and runs triggers like INSERT, within the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import itemgetter

import psycopg
from psycopg.postgres import types
from psycopg.rows import TupleRow
from sqlalchemy import Column, Connection, Engine, ExecutionContext, Table, event
from sqlalchemy.dialects.postgresql.psycopg import dialect as postgresql_dialect
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.core.db.tables import TableRow

DIALECT = postgresql_dialect()  # type: ignore[no-untyped-call]  # it has no hints
_TYPES = "copied_types"


class RowValues:
    """Reads rows of a table: the values of at least two columns, in their order."""

    def __init__(self, columns: Iterable[Column[object]]) -> None:
        listed = list(columns)
        self._get_values: Callable[[Mapping[str, object]], tuple[object, ...]] = itemgetter(
            *(column.name for column in listed)
        )
        self._times = [place for place, column in enumerate(listed) if isinstance(column.type, UTCDateTime)]

    def read(self, row: TableRow) -> tuple[object, ...]:
        """Return the values of a row in the order of the columns, as a tuple has them already.

        Raises:
            ValueError: a time has no UTC offset, so it is ambiguous.
        """
        values = row if isinstance(row, tuple) else self._get_values(row)
        for place in self._times:
            at = values[place]
            if isinstance(at, datetime) and at.utcoffset() is None:
                raise ValueError(f"{at!r} has no UTC offset. Pass an aware datetime.")
        return values


class _CopyStatement:
    """The COPY of a table: its text, its columns' types as OIDs, and the conversion of a row to its values."""

    def __init__(self, table: Table) -> None:
        quote = DIALECT.identifier_preparer
        names = ", ".join(map(quote.format_column, table.columns))
        self.text = f"COPY {quote.format_table(table)} ({names}) FROM STDIN (FORMAT BINARY)"
        self.types = [_find_oid(column.type.compile(DIALECT)) for column in table.columns]
        self.values = RowValues(table.columns)


def copy_rows(connection: Connection, table: Table, rows: Sequence[TableRow]) -> None:
    """Insert at least two rows of all columns; SQLAlchemy translates the driver's errors as those of any statement."""
    statement = _compile(table)
    values = list(map(statement.values.read, rows))
    connection.exec_driver_sql(statement.text, values, {_TYPES: statement.types})


def accept_copies(engine: Engine) -> None:
    """Let the connections of an engine run the statements of `copy_rows`."""
    event.listen(engine, "do_executemany", _copy)


def _copy(
    cursor: psycopg.Cursor[TupleRow], statement: str, rows: Sequence[tuple[object, ...]], context: ExecutionContext
) -> bool:
    """Run a COPY in place of `executemany`; returns whether it did, as SQLAlchemy's event requires."""
    oids = context.execution_options.get(_TYPES)
    if oids is None:
        return False
    with cursor.copy(statement) as copy:
        copy.set_types(oids)
        for row in rows:
            copy.write_row(row)
    return True


@cache
def _compile(table: Table) -> _CopyStatement:
    return _CopyStatement(table)


def _find_oid(name: str) -> int:
    """Return the OID of a type by its name in a table's definition, such as `VARCHAR(64)`."""
    return types[name.partition("(")[0].lower()].oid
