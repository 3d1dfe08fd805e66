"""Upserts: one statement that inserts a row or updates the existing one, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from sqlalchemy import ColumnElement, Connection, Insert, Table
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from attestlab.core.db.transaction import DriverStatement, Row, execute_many, map_row

Columns = ReadOnlyColumnCollection[str, ColumnElement[object]]


class Upsert:
    """An insert into `table` that updates the existing row of the same `key` instead.

    `change` maps the columns of the rejected insert to the values to set. Each dialect's statement is built once, on
    first use, so that an installation on SQLite does not load the PostgreSQL dialect.
    """

    def __init__(self, table: Table, *, key: tuple[str, ...], change: Callable[[Columns], dict[str, object]]) -> None:
        self._table = table
        self._key = key
        self._change = change
        self._built: dict[str, Insert] = {}
        self._sqlite: DriverStatement | None = None

    def run(self, connection: Connection, rows: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
        """Insert or update one row, or several."""
        connection.execute(self._statement(connection.dialect.name), rows)

    def run_many(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Insert or update many rows with all columns; on SQLite directly through the driver, as inserts are sent.

        `change` must bind no value.
        """
        if connection.dialect.name != "sqlite":
            self.run(connection, [map_row(self._table, row) for row in rows])
            return
        if self._sqlite is None:
            self._sqlite = DriverStatement.compile(self._statement("sqlite"), self._table)
        execute_many(connection, self._sqlite, rows)

    def _statement(self, dialect: str) -> Insert:
        if dialect not in self._built:
            statement = import_module(f"sqlalchemy.dialects.{dialect}").insert(self._table)
            self._built[dialect] = statement.on_conflict_do_update(
                index_elements=self._key, set_=self._change(statement.excluded)
            )
        return self._built[dialect]
