"""Upserts and updates of many rows of PostgreSQL by one statement, whose only parameter is a JSON array of the rows.

COPY cannot update a row that exists, `executemany` sends a message for each row, and the driver encodes an array for
each column ten times as slowly as orjson the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import orjson
from sqlalchemy import Column, Connection, Float, Table, literal_column, select, text
from sqlalchemy.dialects.postgresql import insert

from attestlab.core.db.copying import DIALECT, RowValues
from attestlab.core.db.tables import TableRow, UpsertChange

_ROWS = "rows_of_the_parameter"


class JsonUpsert:
    """The statement of an upsert; two rows of one call have different keys.

    Raises:
        TypeError: a column holds doubles, of which JSON has not all: NaN would become NULL.
    """

    def __init__(self, table: Table, *, key: tuple[str, ...], change: UpsertChange) -> None:
        if any(isinstance(column.type, Float) for column in table.columns):
            raise TypeError(f"{table.name} has a column of doubles. Upsert its rows with `Upsert.run`.")
        self._names = [f"{column.name}" for column in table.columns]  # a name may be a kind of text of SQLAlchemy
        self._values = RowValues(table.columns)
        statement = insert(table).from_select(self._names, select(literal_column("*")).select_from(text(_ROWS)))
        statement = statement.on_conflict_do_update(index_elements=key, set_=change(statement.excluded))
        self._text = str(statement.compile(dialect=DIALECT)).replace(_ROWS, _compile_rows(table.columns))

    def run(self, connection: Connection, rows: Sequence[TableRow]) -> None:
        """Insert or update rows with all columns."""
        documents = [dict(zip(self._names, self._values.read(row), strict=True)) for row in rows]
        _run(connection, self._text, documents)


class JsonUpdate:
    """The statement that updates the columns `names` of rows by their primary key.

    `executemany` sends three messages for each row, and PostgreSQL runs a statement for each. None of the columns is
    one of doubles.
    """

    def __init__(self, table: Table, names: tuple[str, ...]) -> None:
        quote = DIALECT.identifier_preparer.format_column
        keys, changed = list(table.primary_key), [table.c[name] for name in names]
        self._names = [f"{column.name}" for column in (*keys, *changed)]  # as in `JsonUpsert`
        self._values = RowValues([*keys, *changed])
        settings = ", ".join(f"{quote(column)} = sent.{quote(column)}" for column in changed)
        target = DIALECT.identifier_preparer.format_table(table)
        same = " AND ".join(f"{target}.{quote(column)} = sent.{quote(column)}" for column in keys)
        self._text = f"UPDATE {target} SET {settings} FROM {_compile_rows([*keys, *changed])} WHERE {same}"

    def run(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        """Update rows, no two of them with one key."""
        _run(connection, self._text, [dict(zip(self._names, self._values.read(row), strict=True)) for row in rows])


def _compile_rows(columns: Iterable[Column[object]]) -> str:
    """Compile the parameter as a table: without lengths, so that a text too long for its column is refused there."""
    quote = DIALECT.identifier_preparer.format_column
    typed = ", ".join(f"{quote(column)} {column.type.compile(DIALECT).partition('(')[0]}" for column in columns)
    return f"json_to_recordset(CAST(%s AS json)) AS sent ({typed})"


def _run(connection: Connection, statement: str, documents: Sequence[Mapping[str, object]]) -> None:
    connection.exec_driver_sql(statement, (orjson.dumps(documents, default=_write_bytes).decode(),))


def _write_bytes(value: object) -> str:
    """Write the bytes of a column in the form that PostgreSQL reads.

    Raises:
        TypeError: it is another value that JSON has no form for.
    """
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no type of a column.")
    return f"\\x{value.hex()}"
