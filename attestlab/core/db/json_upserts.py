"""Upserts of many rows into PostgreSQL by one statement, whose only parameter is a JSON array of the rows.

COPY cannot update a row that exists, `executemany` sends a message for each row, and the driver encodes an array for
each column ten times as slowly as orjson the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, Float, Table, literal_column, select, text
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
        self._values = RowValues(table)
        statement = insert(table).from_select(self._names, select(literal_column("*")).select_from(text(_ROWS)))
        statement = statement.on_conflict_do_update(index_elements=key, set_=change(statement.excluded))
        quote = DIALECT.identifier_preparer.format_column
        # Without a length, so that a text that is too long for its column is refused there, and not cut here.
        columns = ", ".join(
            f"{quote(column)} {column.type.compile(DIALECT).partition('(')[0]}" for column in table.columns
        )
        rows = f"json_to_recordset(CAST(%s AS json)) AS sent ({columns})"
        self._text = str(statement.compile(dialect=DIALECT)).replace(_ROWS, rows)

    def run(self, connection: Connection, rows: Sequence[TableRow]) -> None:
        """Insert or update rows with all columns."""
        documents = [dict(zip(self._names, self._values.read(row), strict=True)) for row in rows]
        connection.exec_driver_sql(self._text, (orjson.dumps(documents, default=_write_bytes).decode(),))


def _write_bytes(value: object) -> str:
    """Write the bytes of a column in the form that PostgreSQL reads.

    Raises:
        TypeError: it is another value that JSON has no form for.
    """
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no type of a column.")
    return f"\\x{value.hex()}"
