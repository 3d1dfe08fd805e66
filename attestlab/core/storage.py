"""The records: one database, many readers, one writer at a time.

SQLite runs in WAL mode with `synchronous=FULL`: NORMAL loses acknowledged commits
in a power cut. A write transaction begins IMMEDIATE on SQLite and takes one
advisory lock on PostgreSQL, so both give the same promise: whoever writes sees
everything that was committed before, and nobody else writes meanwhile.

Just before a commit the sealers (the log, the audit chain, the outbox) complete the
transaction; what they add is part of it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from attestlab.core import folders, sqlite_types
from attestlab.core.errors import Unavailable
from attestlab.core.transaction import Transaction

WRITER_LOCK = 0x61747465  # any constant will do; every writer of one database takes the same
BUSY_TIMEOUT_MS = 15_000
PAGE_BYTES = 8192  # of a new database; measured: commits of some dozen rows take a fifth less than with pages of 4096
WAL_BYTES = 4 << 20  # the commit that moves it into the database waits; of 16 MB, 30 ms and more
RECALLED_CAP = 10_000
_UNREAD: Any = object()

Result = TypeVar("Result")

Sealer = Callable[[Transaction], None]


class Storage:
    """The database behind every capability; `sealers` and `closers` complete each write before its commit."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.sealers: list[Sealer] = []
        self.closers: list[Sealer] = []
        self._local = threading.local()
        self._write_lock = threading.Lock()
        self._readers: list[Connection] = []
        self._engine = _sqlite_engine(self.url) if self.is_sqlite else _postgresql_engine(self.url)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent look at what is committed; inside `write`, at that transaction itself."""
        ambient: Transaction | None = getattr(self._local, "transaction", None)
        if ambient is not None:
            ambient.flush()
            yield ambient.connection
        elif self.is_sqlite:
            yield from self._read_sqlite()
        else:
            with self._engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
                yield connection

    def recalled(self, name: Hashable, load: Callable[[Connection], Result]) -> Result:
        """What `load` reads, read again only when somebody has committed since.

        SQLite tells whether anybody has, in two microseconds; PostgreSQL cannot, so there it
        is read each time. Either way the answer is as fresh as a query's.
        """
        with self.read() as connection:
            return self.recalled_in(connection, name, load)

    def recalled_in(self, connection: Connection, name: Hashable, load: Callable[[Connection], Result]) -> Result:
        """`recalled` in a look that is already open."""
        known = self._known(connection)
        if known is None:
            return load(connection)
        found: Result = known.get(name, _UNREAD)
        if found is _UNREAD:
            found = known[name] = load(connection)
        return found

    def _known(self, connection: Connection) -> dict[Hashable, Any] | None:
        """What this thread has read since the last commit of anybody else; None where that cannot be told."""
        if not self.is_sqlite or connection is not getattr(self._local, "reader", None):
            return None
        driver: Any = connection.connection.dbapi_connection
        version = driver.execute("PRAGMA data_version").fetchone()[0]
        if version != getattr(self._local, "version", None) or len(self._local.known) > RECALLED_CAP:
            self._local.version, self._local.known = version, {}
        known: dict[Hashable, Any] = self._local.known
        return known

    def _read_sqlite(self) -> Iterator[Connection]:
        """The thread's own long-lived connection; BEGIN and COMMIT go straight to the driver, which is cheap."""
        connection = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self._engine.connect()
            self._readers.append(connection)
        driver: Any = connection.connection.dbapi_connection
        if driver.in_transaction:
            yield connection
            return
        driver.execute("BEGIN")
        try:
            yield connection
        finally:
            driver.execute("COMMIT")

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A write transaction: sealed and committed at the end, rolled back on any exception.

        Inside another `write` of the same thread it joins that one.
        """
        ambient: Transaction | None = getattr(self._local, "transaction", None)
        if ambient is not None:
            yield ambient
            return
        tx = self.begin()
        try:
            with self.entered(tx):
                yield tx
                self.seal(tx)
        except BaseException:
            self.abandon(tx)
            raise
        self.commit(tx)

    def begin(self) -> Transaction:
        """Become the one writer of the database, waiting for whoever is; end it with `commit` or `abandon`."""
        self._write_lock.acquire()
        return self._begun()

    def begin_at_once(self) -> Transaction | None:
        """`begin` without waiting: None where another writer is at work."""
        if not self._write_lock.acquire(blocking=False):
            return None
        try:
            return self._begun(busy_timeout_ms=0)
        except OperationalError:
            return None

    def _begun(self, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Transaction:
        try:
            connection = self._engine.connect()
            try:
                self._lock_database(connection, busy_timeout_ms)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            self._write_lock.release()
            raise
        return Transaction(connection)

    def _lock_database(self, connection: Connection, busy_timeout_ms: int) -> None:
        if self.is_sqlite:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={busy_timeout_ms}")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITER_LOCK})")

    @contextmanager
    def entered(self, tx: Transaction) -> Iterator[None]:
        """Within, every `write` and `read` of this thread is `tx`."""
        self._local.transaction = tx
        try:
            yield
        finally:
            self._local.transaction = None

    def seal(self, tx: Transaction) -> None:
        """Let everybody complete the transaction, and send what it still holds."""
        for sealer in self.sealers:
            sealer(tx)
        tx._run_after_seal()
        for closer in self.closers:
            closer(tx)
        tx.flush()

    def commit(self, tx: Transaction) -> None:
        """The one place where a write becomes durable; then those are told who asked to be, before anyone is answered.

        Raises:
            CommitUnknown: the database did not confirm it.
        """
        try:
            self._require_alive(tx.connection)
        except BaseException:
            self.abandon(tx)
            raise
        try:
            tx.connection.commit()
        except BaseException as fault:
            self.abandon(tx)
            raise CommitUnknown from fault
        try:
            tx._tell_committed()
        finally:
            self._end(tx)

    def touch(self, tx: Transaction) -> None:
        """Change the database without changing what it holds, so that the commit has to write and to sync."""
        tx.connection.exec_driver_sql("PRAGMA user_version=0" if self.is_sqlite else "SELECT txid_current()")

    def _require_alive(self, connection: Connection) -> None:
        """A transaction that the database gave up would "commit" without a word, and keep nothing."""
        driver: Any = connection.connection.dbapi_connection
        alive = driver.in_transaction if self.is_sqlite else driver.info.transaction_status.name == "INTRANS"
        if not alive:
            raise Unavailable("The database gave up the transaction; nothing was changed.")

    def abandon(self, tx: Transaction) -> None:
        """Take everything back."""
        try:
            tx.connection.rollback()
        finally:
            self._end(tx)

    def _end(self, tx: Transaction) -> None:
        try:
            tx.connection.close()
        finally:
            self._write_lock.release()

    @property
    def engine(self) -> Engine:
        """For migrations and for tests; everything else goes through `read` and `write`."""
        return self._engine

    def close(self) -> None:
        """Give every connection back; the storage cannot be used afterwards."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()
        self._engine.dispose()


class CommitUnknown(Unavailable):
    """The database did not say whether the commit happened; repeating it blindly could do it twice."""

    def __init__(self, message: str = "The commit was not confirmed; look before you send it again.") -> None:
        super().__init__(message)


def database_url(url: str) -> URL:
    """SQLite by path or URL, PostgreSQL through psycopg."""
    parsed = make_url(url if "://" in url else f"sqlite:///{Path(url)}")
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _postgresql_engine(url: URL) -> Engine:
    """Connections that keep our promise whatever the database's own defaults are.

    In a zone east of Greenwich the last hours of the year 9999 cannot be read back; and a commit
    that is not waited for is none.
    """
    engine = create_engine(url, pool_size=8)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    return engine


def _sqlite_engine(url: URL) -> Engine:
    """Connections that leave BEGIN and COMMIT to us, each with the settings the promise rests on."""
    if url.database and url.database != ":memory:":
        folders.keep_private(Path(url.database))
    engine = create_engine(
        url,
        pool_size=0,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
    )

    engine.dialect.colspecs = {**engine.dialect.colspecs, **sqlite_types.TYPES}

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        for pragma in (
            f"page_size={PAGE_BYTES}",  # before the first page is written; a database that stands keeps its own
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "cache_size=-65536",
            "temp_store=MEMORY",
        ):
            _execute(connection, f"PRAGMA {pragma}")
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA wal_autocheckpoint={WAL_BYTES // page_bytes}")

    @event.listens_for(engine, "handle_error")
    def replace_read_only(context: Any) -> None:
        """SQLite opens a file for reading alone where it cannot be opened for both, and never tries again."""
        if getattr(context.original_exception, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            context.is_disconnect = True

    return engine


def _execute(connection: sqlite3.Connection, statement: str) -> None:
    """Run the first statements on a file; a damaged schema may be quoted in an error that is no text."""
    try:
        connection.execute(statement)
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError("malformed database schema") from error


_OF_THE_MOMENT = frozenset({"OperationalError", "InternalError", "InterfaceError", "DatabaseError"})


def is_unreachable(fault: BaseException) -> bool:
    """Whether database or disk could not be reached, locked or read: a matter of the moment, not of the request.

    Told by the names that both drivers, and SQLAlchemy around them, give such errors (PEP 249).
    """
    return isinstance(fault, OSError) or type(fault).__name__ in _OF_THE_MOMENT


def ping(connection: Connection) -> None:
    """Ask the database for a sign of life."""
    connection.execute(text("SELECT 1"))
