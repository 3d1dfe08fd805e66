"""The records on SQLite: the settings of each connection that durability depends on, and the writer's lock."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext

from attestlab.core import atomic_files
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.mounts import find_network_file_system

BUSY_TIMEOUT_MS = 15_000
MIGRATION_TIMEOUT_MS = 600_000  # another process may be migrating a large table
PAGE_BYTES = 8192  # of a new database; measured: a commit of some dozen rows takes a fifth less time than with 4096
CACHE_BYTES = 16 << 20  # of pages that one connection keeps
CACHES_BYTES = 64 << 20  # of pages that all connections of a process keep together; each had 64 MiB to itself once
_WAL_POLL_S = 0.005
WAL_BYTES = 4 << 20  # the commit that checkpoints the WAL waits for it; with 16 MB, for 30 ms and more


def engine_of(url: URL) -> Engine:
    """Create an engine whose connections leave BEGIN and COMMIT to us and have the settings for durability."""
    if url.database and url.database != ":memory:":
        atomic_files.ensure_private_database(Path(url.database))
    engine = create_engine(
        url,
        pool_size=0,
        hide_parameters=True,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        _execute(connection, f"PRAGMA page_size={PAGE_BYTES}")  # before the first page; later it has no effect
        _use_wal(connection)
        for pragma in (
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            f"cache_size=-{CACHE_BYTES // 1024}",
            f"soft_heap_limit={CACHES_BYTES}",
            "temp_store=MEMORY",
        ):
            _execute(connection, f"PRAGMA {pragma}")
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA wal_autocheckpoint={WAL_BYTES // page_bytes}")

    @event.listens_for(engine, "handle_error")
    def replace_read_only(context: ExceptionContext) -> None:
        """Discard a read-only connection: SQLite opens a file read-only if it must, and never tries again."""
        if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            context.is_disconnect = True

    return engine


def require_local_file(url: URL) -> None:
    """Require that a new database is not on a network file system, for which SQLite's locks and WAL are not made.

    Raises:
        ValidationFailed: it would be; the message names the type.
    """
    path = url.database if url.get_backend_name() == "sqlite" else None
    kind = find_network_file_system(Path(path).absolute()) if path and path != ":memory:" else None
    if kind is not None:
        raise ValidationFailed(
            f"{quote(str(path))} is on a network file system ({kind}), where SQLite can lose or damage the records. "
            "Choose a folder on a local disk, or PostgreSQL: --database-url postgresql://user@host/name."
        )


def begin_immediate(connection: Connection, busy_timeout_ms: int) -> None:
    """Take the writer's lock; waits at most `busy_timeout_ms` for another process."""
    connection.exec_driver_sql(f"PRAGMA busy_timeout={busy_timeout_ms}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Set the journal mode of a database, once and for all.

    Waits while other processes open the same new database: SQLite does not wait for their locks by itself here, because
    it holds one already (`sqlite3BtreeSetVersion` begins a read before its write).

    Raises:
        sqlite3.OperationalError: the database stays locked for longer than the busy timeout.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            return _execute(connection, "PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_WAL_POLL_S)


def _execute(connection: sqlite3.Connection, statement: str) -> None:
    """Run one of the first statements on a file; SQLite may quote a damaged schema in an error that is not UTF-8."""
    try:
        connection.execute(statement)
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError("malformed database schema") from error
