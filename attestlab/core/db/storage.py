"""The records: one database, many readers, one writer at a time.

SQLite runs in WAL mode with `synchronous=FULL`: NORMAL loses acknowledged commits
in a power cut. A write transaction begins IMMEDIATE on SQLite and takes one
advisory lock on PostgreSQL, so both give the same guarantee: the writer sees
everything that was committed before, and no other process writes until it ends.

Just before a commit, commit hooks complete the transaction in two phases. The sequence
hooks assign log indexes and write the checkpoint. The record hooks write what may depend
on those: usage, the audit chain, the outbox. Their rows are part of the same transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from attestlab.core import error_text
from attestlab.core.clock import Clock, SystemClock
from attestlab.core.db import sqlite
from attestlab.core.db.shared_snapshots import Cache, Snapshots
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.db.unreachable import is_unreachable
from attestlab.core.db.urls import database_url
from attestlab.core.db.write_observer import Unobserved, WriteObserver
from attestlab.core.errors import Unavailable
from attestlab.core.extras import naming_extras

if TYPE_CHECKING:
    from attestlab.core.db.postgresql import Database, Reachability

CACHE_CAPACITY = 10_000
_MISSING: Any = object()  # stands for a value of any type

Result = TypeVar("Result")

CommitHook = Callable[[Transaction], None]


class Storage:
    """The database of all capabilities; `sequence_hooks`, then `record_hooks` complete each write before its commit."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.sequence_hooks: list[CommitHook] = []
        self.record_hooks: list[CommitHook] = []
        self.commit_error: BaseException | None = None  # of the last commit; None after a later one became durable
        self.on_commit_failed: Callable[[BaseException], None] = lambda _error: None
        self.observer: WriteObserver = Unobserved()
        self._local = threading.local()
        self._write_lock = threading.Lock()
        self._readers: list[Connection] = []
        self.reachability: Reachability | None = None
        self._database: Database | None = None
        self._snapshots = Snapshots(lambda: self._connect().execution_options(isolation_level="REPEATABLE READ"))
        self.engine = sqlite.engine_of(self.url) if self.is_sqlite else self._postgresql_engine()

    @property
    def full_url(self) -> str:
        """The URL with its password, if it has one, for another process that opens the same records."""
        return self.url.render_as_string(hide_password=False)

    def _postgresql_engine(self) -> Engine:
        """Create an engine with the limits of commands; `serve_requests` applies those of requests."""
        with naming_extras():
            from attestlab.core.db import postgresql  # loads the driver, which SQLite does not need

        self.reachability = postgresql.Reachability()
        self._database = postgresql.Database(
            self.url,
            reachability=self.reachability,
            limits=postgresql.COMMANDS,
            on_connections=lambda in_use: self.observer.observe_connections(in_use),
            pool_size=8,
        )
        return self._database.engine

    @property
    def clock(self) -> Clock:
        """The clock shared by all processes of the installation: on PostgreSQL the database's, because hosts differ."""
        return SystemClock() if self._database is None else self._database.clock

    def measure_clock(self) -> None:
        """Measure the database's clock, on PostgreSQL."""
        if self._database is not None:
            self._database.measure_clock()

    def serve_requests(self) -> None:
        """Apply the statement and lock limits of a server, whose clients wait; on PostgreSQL."""
        if self._database is not None:
            from attestlab.core.db.postgresql import REQUESTS

            self._database.limit(REQUESTS)

    def cancel_waits(self) -> None:
        """Cancel every wait for PostgreSQL, so that no thread delays the end of the process."""
        if self.reachability is not None:
            self.reachability.cancel_waits()

    def open_session(self) -> Connection:
        """Open an autocommit connection that the caller owns; for session-level locks on PostgreSQL."""
        return self._connect().execution_options(isolation_level="AUTOCOMMIT")

    def _connect(self) -> Connection:
        return self.engine.connect() if self._database is None else self._database.connect()

    @contextmanager
    def read(self, tx: Transaction | None = None) -> Iterator[Connection]:
        """Open a consistent snapshot of the committed records; with `tx`, read what that transaction sees.

        Raises:
            RuntimeError: this thread is within a write, whose `tx` is missing.
        """
        if tx is not None:
            tx.flush()
            yield tx.connection
            return
        self._require_no_open_write("read")
        if self.is_sqlite:
            yield from self._read_sqlite()
        else:
            with self._snapshots.read() as connection:
                yield connection

    def share_snapshot(self) -> AbstractContextManager[None]:
        """Let this thread's reads in the block share one snapshot, and what `cached_read` loads from it; on PostgreSQL.

        A write of this thread ends it. On SQLite each read has its own, which costs nothing.
        """
        return nullcontext() if self.is_sqlite else self._snapshots.share()

    def cached_read(
        self, name: Hashable, load: Callable[[Connection], Result], tx: Transaction | None = None
    ) -> Result:
        """Return the result of `load`, cached until the next commit of any process; with `tx`, `load` runs in it.

        SQLite reports within two microseconds whether another connection has committed. PostgreSQL cannot,
        so there `load` runs once a snapshot. Either way the result is as fresh as a query's.
        """
        with self.read(tx) as connection:
            return self.load_cached(connection, name, load)

    def load_cached(self, connection: Connection, name: Hashable, load: Callable[[Connection], Result]) -> Result:
        """Do the same as `cached_read` on a snapshot that is already open."""
        cache = self._thread_cache(connection)
        if cache is None:
            return load(connection)
        value: Result = cache.get(name, _MISSING)
        if value is _MISSING:
            value = cache[name] = load(connection)
        return value

    def _thread_cache(self, connection: Connection) -> Cache | None:
        """Return what this thread has cached since the last commit of another connection.

        On PostgreSQL return what was loaded from the thread's shared snapshot; None without one.
        """
        if not self.is_sqlite:
            return self._snapshots.cache_of(connection)
        if connection is not getattr(self._local, "reader", None):
            return None
        driver: Any = connection.connection.dbapi_connection  # sqlite3's or psycopg's
        version = driver.execute("PRAGMA data_version").fetchone()[0]
        if version != getattr(self._local, "version", None) or len(self._local.cache) > CACHE_CAPACITY:
            self._local.version, self._local.cache = version, {}
        cache: Cache = self._local.cache
        return cache

    def _read_sqlite(self) -> Iterator[Connection]:
        """Read on the thread's own long-lived connection; sends BEGIN and COMMIT directly to the driver, for speed."""
        connection = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self.engine.connect()
            self._readers.append(connection)
        driver: Any = connection.connection.dbapi_connection  # sqlite3's or psycopg's
        if driver.in_transaction:
            yield connection
            return
        driver.execute("BEGIN")
        try:
            yield connection
        finally:
            driver.execute("COMMIT")

    @contextmanager
    def write(
        self, tx: Transaction | None = None, *, is_migration: bool = False, foreseen: Foreseen | None = None
    ) -> Iterator[Transaction]:
        """Open a write transaction; it is committed at the end of the block and rolled back on any exception.

        With `tx` the block joins that transaction, and its opener commits it. A migration waits for another process's:
        ten minutes on SQLite, on PostgreSQL without a limit.

        Raises:
            RuntimeError: this thread is within a write, whose `tx` is missing.
        """
        if tx is not None:
            yield tx
            return
        self._require_no_open_write("write")
        tx = self.begin(is_migration=is_migration, foreseen=foreseen)
        try:
            with self.require_tx():
                if not self.is_sqlite:
                    tx.load_foreseen()
                yield tx
                self.run_commit_hooks(tx)
        except BaseException:
            self.rollback(tx)
            raise
        self.commit(tx)

    def begin(self, *, is_migration: bool = False, foreseen: Foreseen | None = None) -> Transaction:
        """Take the writer's lock, on PostgreSQL with answers to `foreseen` reads; end it with `commit` or `rollback`.

        Raises:
            NotBegun: another process holds the lock, or PostgreSQL is unreachable, for longer than the limits allow.
        """
        asked_at = monotonic()
        self._snapshots.end_shared()
        self._write_lock.acquire()
        return self._begin_locked(asked_at, is_migration=is_migration, foreseen=foreseen)

    def try_begin(self) -> Transaction | None:
        """Begin a write transaction without waiting; returns None if another writer is active."""
        if not self._write_lock.acquire(blocking=False):
            return None
        try:
            return self._begin_locked(monotonic(), busy_timeout_ms=0)
        except OperationalError:
            return None

    @contextmanager
    def lend_writer(self) -> Iterator[None]:
        """Keep the writers of this process waiting, however long, while another process writes for it.

        Without this they would wait for the database's lock, whose limit is shorter than a long write.
        """
        asked_at = monotonic()
        with self._write_lock:
            locked_at = monotonic()
            try:
                yield
            finally:
                self.observer.observe_lock(before_s=locked_at - asked_at, held_s=monotonic() - locked_at)

    def _begin_locked(
        self,
        asked_at: float,
        *,
        busy_timeout_ms: int = sqlite.BUSY_TIMEOUT_MS,
        is_migration: bool = False,
        foreseen: Foreseen | None = None,
    ) -> Transaction:
        """Begin a transaction; the caller holds `_write_lock`, which a failure releases."""
        try:
            connection = self._connect()
            try:
                if self._database is None:
                    wait_ms = sqlite.MIGRATION_TIMEOUT_MS if is_migration else busy_timeout_ms
                    sqlite.begin_immediate(connection, wait_ms)
                    locked_at = monotonic()
                else:
                    locked_at = self._database.lock_writer(connection, foreseen or {}, is_migration=is_migration)
            except BaseException:
                connection.close()
                raise
        except BaseException as error:
            self._write_lock.release()
            if not self.is_sqlite and is_unreachable(error):
                raise NotBegun(error) from error
            raise
        return Transaction(connection, asked_at=asked_at, locked_at=locked_at, foreseen=foreseen)

    @contextmanager
    def require_tx(self) -> Iterator[None]:
        """Mark this thread as within a write: in the block, every `read` and `write` of it must name its `tx`.

        Otherwise a read would miss the transaction's own changes, and a write would wait for its own thread forever.
        """
        self._local.is_writing = True
        try:
            yield
        finally:
            self._local.is_writing = False

    def _require_no_open_write(self, verb: str) -> None:
        if getattr(self._local, "is_writing", False):
            raise RuntimeError(f"This thread is within a write. Call {verb}(tx) with its transaction.")

    def run_commit_hooks(self, tx: Transaction) -> None:
        """Run the sequence hooks, the after-sequencing callbacks and the record hooks, then send buffered rows."""
        tx.keep_foreseen()
        for hook in self.sequence_hooks:
            hook(tx)
        tx._run_after_sequencing()
        for hook in self.record_hooks:
            hook(tx)
        tx.send_last()

    def commit(self, tx: Transaction) -> None:
        """Commit the transaction. After-commit callbacks run before any response is sent.

        Raises:
            CommitUnknown: the database did not confirm the commit.
            Unavailable: the database had already rolled the transaction back.
        """
        tx.completed_at = monotonic()
        try:
            self._require_alive(tx.connection)
        except BaseException:
            self.rollback(tx)
            raise
        try:
            tx.connection.commit()
        except BaseException as error:
            self._record_commit_error(error)
            self.rollback(tx)
            raise CommitUnknown from error
        self._observe_lock(tx)
        try:
            tx._run_after_commit()
        except BaseException as error:
            self._record_commit_error(error.__cause__ or error)
            raise
        finally:
            self._end(tx)

    def _record_commit_error(self, error: BaseException) -> None:
        self.commit_error = error
        self.on_commit_failed(error)

    def touch(self, tx: Transaction) -> None:
        """Make the commit write and sync without changing any record; for readiness probes."""
        if self.is_sqlite:
            tx.connection.exec_driver_sql("PRAGMA user_version=0")
        else:
            from attestlab.core.db.postgresql import require_space

            require_space(tx.connection)
        tx.after_commit(self._clear_commit_error)

    def _clear_commit_error(self) -> None:
        self.commit_error = None

    def _require_alive(self, connection: Connection) -> None:
        """Require an open transaction: if the database has rolled it back, COMMIT would succeed and store nothing."""
        driver: Any = connection.connection.dbapi_connection  # sqlite3's or psycopg's
        is_alive = driver.in_transaction if self.is_sqlite else driver.info.transaction_status.name == "INTRANS"
        if not is_alive:
            raise Unavailable("The database rolled the transaction back; nothing was changed. Retry the request.")

    def rollback(self, tx: Transaction) -> None:
        """Roll back and release the writer's lock."""
        try:
            tx.connection.rollback()
        finally:
            self._observe_lock(tx)
            self._end(tx)

    def _observe_lock(self, tx: Transaction) -> None:
        self.observer.observe_lock(before_s=tx.locked_at - tx.asked_at, held_s=monotonic() - tx.locked_at)

    def _end(self, tx: Transaction) -> None:
        try:
            tx.connection.close()
        finally:
            self._write_lock.release()

    def close(self) -> None:
        """Close every connection; the storage cannot be used afterwards."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()
        (self._database.close if self._database else self.engine.dispose)()


class NotBegun(OSError):
    """A write transaction could not begin, so nothing was changed; a retry would wait equally long."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"The records cannot be written right now: {error_text.text_without_values(cause)}")


class CommitUnknown(Unavailable):
    """The database did not confirm the commit; a blind retry could apply the change twice."""

    def __init__(
        self, message: str = "The commit was not confirmed. Check whether the change exists before you retry."
    ) -> None:
        super().__init__(message)
