"""Metadata of all tables in this version's models; for comparison only, migrations never use it."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from sqlalchemy import MetaData, Table
from sqlalchemy.schema import SchemaItem
from sqlmodel import SQLModel

from attestlab.core.db.byte_order import list_operator_classes
from attestlab.core.db.tables import ONLY_ON

PACKAGE = Path(__file__).parents[1]
_TABLE = re.compile(r"^\w+ = model_of\(", re.MULTILINE)


def metadata() -> MetaData:
    """Import every module that defines a table, found by its source text, and return the metadata of all tables."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if _TABLE.search(path.read_text(encoding="utf-8")):
            import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    for table in SQLModel.metadata.tables.values():
        _partial_on_both_engines(table)
        _set_operator_classes(table)
    return SQLModel.metadata


def exists_on(dialect: str) -> Callable[..., bool]:
    """Return Alembic's `include_object` for a database, without the indexes that only the other engine has."""

    def include(item: SchemaItem, _name: str, _kind: str, _is_reflected: bool, _other: SchemaItem | None) -> bool:
        return bool(item.info.get(ONLY_ON, dialect) == dialect)

    return include


def _partial_on_both_engines(table: Table) -> None:
    """Copy the condition of partial indexes from SQLite to PostgreSQL.

    Models declare it for SQLite only, because declaring it for PostgreSQL would load that dialect in every process.
    """
    for index in table.indexes:
        condition = index.dialect_options["sqlite"]["where"]
        if condition is not None:
            index.dialect_options["postgresql"]["where"] = condition


def _set_operator_classes(table: Table) -> None:
    """Set the operator classes of PostgreSQL, which models declare without that dialect (`core/db/byte_order.py`)."""
    for index in table.indexes:
        index.dialect_options["postgresql"]["ops"] = dict(list_operator_classes(index))
