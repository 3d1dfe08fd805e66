"""SQLAlchemy's table of a SQLModel class, and the type of a function that executes statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import CursorResult, Table
from sqlmodel import SQLModel

Execute = Callable[..., CursorResult[*tuple[Any, ...]]]
"""`connection.execute`, or `tx.exec`, which first sends the transaction's buffered inserts."""


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a class declared with `table=True`; SQLModel sets it but does not declare its type."""
    return cast(Table, model.__table__)  # type: ignore[attr-defined]
