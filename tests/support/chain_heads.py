"""Chain heads as the rows of tests: the smallest table, of which a test may add what it likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select, update

from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.records.hash_chain import ChainHead

heads = table_of(ChainHead)


def make_head(name: str, length: int = 0) -> dict[str, Any]:
    """A row with every column."""
    return {"name": name, "length": length, "hash": b"\0" * 32}


def adding(name: str) -> Callable[[Transaction], None]:
    """A job that adds one row."""
    return lambda tx: tx.add(heads, make_head(name))


def set_length(tx: Transaction, length: int) -> None:
    """Change every row with a separate statement."""
    tx.exec(update(heads).values(length=length))


def read_lengths(storage: Storage) -> dict[str, int]:
    """The committed rows: their names with their lengths."""
    with storage.read() as connection:
        return list_lengths(connection)


def list_lengths(connection: Connection) -> dict[str, int]:
    """The rows that a connection sees: their names with their lengths."""
    return {row.name: row.length for row in connection.execute(select(heads.c.name, heads.c.length))}
