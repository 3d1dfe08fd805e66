"""The tables as the models of this version describe them; for comparing, never for running."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from sqlalchemy import MetaData, Table
from sqlmodel import SQLModel

PACKAGE = Path(__file__).parents[1]
_TABLE = re.compile(r"^class \w+\(.*\btable=True\)", re.MULTILINE)


def metadata() -> MetaData:
    """Every table of the package: each module that has one is found by its text, so that none is forgotten."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if _TABLE.search(path.read_text(encoding="utf-8")):
            import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    for table in SQLModel.metadata.tables.values():
        _partial_on_both_engines(table)
    return SQLModel.metadata


def _partial_on_both_engines(table: Table) -> None:
    """
    A partial index names its condition once, as SQLite's: naming PostgreSQL's would load its dialect in every process.
    """
    for index in table.indexes:
        condition = index.dialect_options["sqlite"]["where"]
        if condition is not None:
            index.dialect_options["postgresql"]["where"] = condition
