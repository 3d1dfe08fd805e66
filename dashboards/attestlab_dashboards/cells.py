"""Typed reading of the cells of a row: a query's columns have known types."""

from __future__ import annotations

from datetime import datetime

from attestlab.client.analysis.row_iterator import Row


def read_whole(row: Row, name: str) -> int:
    """Read a whole number; NULL is 0."""
    value = row[name]
    return value if isinstance(value, int) else 0


def read_number(row: Row, name: str) -> float:
    """Read a number; NULL is 0."""
    value = row[name]
    return float(value) if isinstance(value, int | float) else 0.0


def read_text(row: Row, name: str) -> str:
    """Read a text; NULL is the empty one."""
    value = row[name]
    return "" if value is None else str(value)


def find_time(row: Row, name: str) -> datetime | None:
    """Read a time (UTC), None for NULL."""
    value = row[name]
    return value if isinstance(value, datetime) else None


def read_time(row: Row, name: str) -> datetime:
    """Read a time (UTC).

    Raises:
        TypeError: it is NULL.
    """
    found = find_time(row, name)
    if found is None:
        raise TypeError(f"{name} is NULL")
    return found
