"""Metadata of all tables in this version's models; for comparison only, migrations never use it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from sqlalchemy import MetaData, Table
from sqlmodel import SQLModel

PACKAGE = Path(__file__).parents[1]
_TABLE = re.compile(r"^\w+ = model_of\(", re.MULTILINE)


def metadata() -> MetaData:
    """Import every module that defines a table, found by its source text, and return the metadata of all tables."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if _TABLE.search(path.read_text(encoding="utf-8")):
            import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    for table in SQLModel.metadata.tables.values():
        _partial_on_both_engines(table)
    return SQLModel.metadata


def _partial_on_both_engines(table: Table) -> None:
    """Copy the condition of partial indexes from SQLite to PostgreSQL.

    Models declare it for SQLite only, because declaring it for PostgreSQL would load that dialect in every process.
    """
    for index in table.indexes:
        condition = index.dialect_options["sqlite"]["where"]
        if condition is not None:
            index.dialect_options["postgresql"]["where"] = condition
