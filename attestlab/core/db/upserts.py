"""Insert a row or change the one that is there, in one statement, on either engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, Executable, Table


class Upsert:
    """Insert rows of `table`; where a row of the same `key` stands, `change` that one.

    `change` gets the columns that were to be inserted and gives the values of the columns to set. Each engine's
    statement is built once, when it is first needed: who runs on SQLite need not load what speaks PostgreSQL.
    """

    def __init__(self, table: Table, *, key: tuple[str, ...], change: Callable[[Any], dict[str, Any]]) -> None:
        self._table = table
        self._key = key
        self._change = change
        self._built: dict[str, Executable] = {}

    def run(self, connection: Connection, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """Send one row or several."""
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
