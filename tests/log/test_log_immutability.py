"""The database itself refuses to change log entries, for every client."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError

from attestlab.log.store import heads
from attestlab.log.tables import IMMUTABILITY_DDL
from support.log.instance import LogInstance

pytestmark = pytest.mark.both_engines

CHANGES = [
    "UPDATE log_leaves SET entry = entry",
    "UPDATE log_leaves SET subject = 'key:x' WHERE \"index\" = 0",
    'DELETE FROM log_leaves WHERE "index" = 0',
    "UPDATE log_tiles SET data = data",
    "DELETE FROM log_tiles",
    "UPDATE log_checkpoints SET note = '' WHERE size = 0",
    "DELETE FROM log_checkpoints",
    "DELETE FROM log_head",
    "UPDATE log_head SET size = size - 1",
    "UPDATE log_head SET root = vkey",
    "UPDATE log_head SET origin = 'log.example/other'",
]
TABLES = ("log_leaves", "log_tiles", "log_checkpoints", "log_head")


def refuse(log_instance: LogInstance, change: str) -> None:
    with pytest.raises(DBAPIError, match="append-only"), log_instance.storage.engine.begin() as connection:
        connection.exec_driver_sql(change)


@pytest.mark.parametrize("change", CHANGES)
def test_logged_rows_cannot_be_updated_or_deleted(log_instance: LogInstance, change: str) -> None:
    log_instance.grow(300)
    if not log_instance.storage.is_sqlite:
        change = change.replace("root = vkey", "root = vkey::bytea")
    refuse(log_instance, change)
    log_instance.require_consistent()


@pytest.mark.parametrize("table", TABLES)
def test_log_tables_cannot_be_truncated(log_instance: LogInstance, table: str) -> None:
    log_instance.grow(300)
    refuse(log_instance, f"DELETE FROM {table}" if log_instance.storage.is_sqlite else f"TRUNCATE {table}")


def test_the_sealed_key_can_be_replaced_while_the_tree_stays(log_instance: LogInstance) -> None:
    """Rewrapping replaces the sealed key in place; the triggers guard the tree and must let it through."""
    log_instance.grow(3)
    with log_instance.storage.engine.begin() as connection:
        connection.execute(update(heads).values(sealed_key=b"sealed under another key"))

    with log_instance.storage.engine.connect() as connection:
        assert connection.execute(select(heads.c.size, heads.c.sealed_key)).one() == (3, b"sealed under another key")


def test_migrations_are_given_the_same_triggers_for_each_engine() -> None:
    assert set(IMMUTABILITY_DDL) == {"sqlite", "postgresql"}
    for statements in IMMUTABILITY_DDL.values():
        for table in TABLES:
            assert any(f"ON {table} " in statement for statement in statements)
