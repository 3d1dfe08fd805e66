"""Upserts: one statement that inserts a row or updates the existing one, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Insert, Table

from attestlab.core.db.tables import TableRow, UpsertChange
from attestlab.core.db.transaction import DriverStatement, execute_many, map_row

if TYPE_CHECKING:
    from attestlab.core.db.json_upserts import JsonUpsert


class Upsert:
    """An insert into `table` that updates the existing row of the same `key` instead.

    `change` maps the columns of the rejected insert to the values to set. Each dialect's statement is built once, on
    first use, so that an installation on SQLite does not load the PostgreSQL dialect.
    """

    def __init__(self, table: Table, *, key: tuple[str, ...], change: UpsertChange) -> None:
        self._table = table
        self._key = key
        self._change = change
        self._built: dict[str, Insert] = {}
        self._sqlite: DriverStatement | None = None
        self._json: JsonUpsert | None = None  # of PostgreSQL

    def run(self, connection: Connection, rows: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
        """Insert or update one row, or several."""
        connection.execute(self._statement(connection.dialect.name), rows)

    def run_many(self, connection: Connection, rows: Sequence[TableRow]) -> None:
        """Insert or update many rows with all columns, no two of them with one key, directly through the driver.

        `change` must bind no value.
        """
        if connection.dialect.name != "sqlite":
            self._run_json(connection, rows)
            return
        if self._sqlite is None:
            self._sqlite = DriverStatement.compile(self._statement("sqlite"), self._table)
        execute_many(connection, self._sqlite, rows)

    def _run_json(self, connection: Connection, rows: Sequence[TableRow]) -> None:
        if len(rows) == 1:
            self.run(connection, map_row(self._table, rows[0]))
            return
        if self._json is None:
            from attestlab.core.db.json_upserts import JsonUpsert  # loads the driver, which SQLite does not need

            self._json = JsonUpsert(self._table, key=self._key, change=self._change)
        self._json.run(connection, rows)

    def _statement(self, dialect: str) -> Insert:
        if dialect not in self._built:
            statement = import_module(f"sqlalchemy.dialects.{dialect}").insert(self._table)
            self._built[dialect] = statement.on_conflict_do_update(
                index_elements=self._key, set_=self._change(statement.excluded)
            )
        return self._built[dialect]
