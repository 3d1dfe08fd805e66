"""SQLAlchemy's table of a SQLModel class, and the type of a function that executes statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import CursorResult, Table
from sqlmodel import SQLModel

Execute = Callable[..., CursorResult[*tuple[Any, ...]]]
"""`connection.execute`, or `tx.exec`, which also sees what its transaction is about to insert."""


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a class declared with `table=True`; SQLModel sets it, but its types do not say so."""
    return cast(Table, model.__table__)  # type: ignore[attr-defined]
