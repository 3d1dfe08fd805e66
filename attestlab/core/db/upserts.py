"""Upserts: one statement that inserts a row or updates the existing one, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from sqlalchemy import ColumnElement, Connection, Executable, Table
from sqlalchemy.sql.base import ReadOnlyColumnCollection

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
        self._built: dict[str, Executable] = {}

    def run(self, connection: Connection, rows: Mapping[str, object] | Sequence[Mapping[str, object]]) -> None:
        """Insert or update one row, or several."""
        dialect = connection.dialect.name
        if dialect not in self._built:
            self._built[dialect] = self._build(dialect)
        connection.execute(self._built[dialect], rows)

    def _build(self, dialect: str) -> Executable:
        statement = import_module(f"sqlalchemy.dialects.{dialect}").insert(self._table)
        built: Executable = statement.on_conflict_do_update(
            index_elements=self._key, set_=self._change(statement.excluded)
        )
        return built
