"""Records: the named tuple of a whole table has the columns of its SQLModel class, in their order, with their types."""

from __future__ import annotations

import importlib
import inspect
from typing import get_type_hints

import pytest
from house.measures import MODULES as MODULE_PATHS
from house.measures import ROOT
from sqlmodel import SQLModel

MODULES = [
    importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for path in MODULE_PATHS
    if "table=True" in path.read_text() and "migrations" not in path.parts
]
TABLES = {
    name: member
    for module in MODULES
    for name, member in inspect.getmembers(module, inspect.isclass)
    if issubclass(member, SQLModel) and hasattr(member, "__table__") and member.__module__ == module.__name__
}


@pytest.mark.parametrize("name", TABLES)
def test_record_has_the_columns_of_its_table(name: str) -> None:
    table = TABLES[name]
    record = getattr(inspect.getmodule(table), f"{name}Record")

    columns = {column.name: get_type_hints(table)[column.name] for column in table.__table__.columns}  # type: ignore[attr-defined]  # SQLModel sets it

    assert get_type_hints(record) == columns
    assert list(record._fields) == list(columns)
