"""The records: one database, many readers, one writer at a time.

SQLite runs in WAL mode with `synchronous=FULL`: NORMAL loses acknowledged commits
in a power cut. A write transaction begins IMMEDIATE on SQLite and takes one
advisory lock on PostgreSQL, so both give the same promise: whoever writes sees
everything that was committed before, and nobody else writes meanwhile.

Just before a commit the sealers (the log, the audit chain, the outbox) complete the
transaction; what they add is part of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from attestlab.core import error_text
from attestlab.core.clock import Clock, SystemClock
from attestlab.core.db import sqlite
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable

if TYPE_CHECKING:
    from attestlab.core.db.postgresql import Database, Reachability

WRITER_LOCK = 0x61747465  # any constant will do; every writer of one database takes the same
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
        self.commit_error: BaseException | None = None  # of the last commit; None once a later one reached the disk
        self.when_commit_failed: Callable[[BaseException], None] = lambda _error: None
        self._local = threading.local()
        self._write_lock = threading.Lock()
        self._readers: list[Connection] = []
        self.reachability: Reachability | None = None
        self._database: Database | None = None
        self._engine = sqlite.engine_of(self.url) if self.is_sqlite else self._postgresql_engine()

    def _postgresql_engine(self) -> Engine:
        """Connections with the limits of commands; `serve_requests` gives them those of requests."""
        from attestlab.core.db import postgresql  # with the driver, which SQLite does without

        self.reachability = postgresql.Reachability()
        self._database = postgresql.Database(
            self.url, reachability=self.reachability, limits=postgresql.COMMANDS, pool_size=8
        )
        return self._database.engine

    @property
    def clock(self) -> Clock:
        """The clock of all that share the records: on PostgreSQL the database's, because hosts differ."""
        return SystemClock() if self._database is None else self._database.clock

    def measure_clock(self) -> None:
        """Compare the clock with the database's, where it has one."""
        if self._database is not None:
            self._database.measure_clock()

    def serve_requests(self) -> None:
        """Limit how long any statement may take, because clients wait; on PostgreSQL."""
        if self._database is not None:
            from attestlab.core.db.postgresql import REQUESTS

            self._database.limit(REQUESTS)

    def cut(self) -> None:
        """End every wait for PostgreSQL, so that no thread keeps the process from its end."""
        if self.reachability is not None:
            self.reachability.cut()

    def session(self) -> Connection:
        """A connection of the caller's own, without transactions; for what a session holds, on PostgreSQL."""
        return self._connect().execution_options(isolation_level="AUTOCOMMIT")

    def _connect(self) -> Connection:
        return self._engine.connect() if self._database is None else self._database.connect()

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
            with self._connect().execution_options(isolation_level="REPEATABLE READ") as connection:
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
    def write(self, *, is_migration: bool = False) -> Iterator[Transaction]:
        """A write transaction: sealed and committed at the end, rolled back on any exception.

        Inside another `write` of the same thread it joins that one. A migration waits without a limit.
        """
        ambient: Transaction | None = getattr(self._local, "transaction", None)
        if ambient is not None:
            yield ambient
            return
        tx = self.begin(is_migration=is_migration)
        try:
            with self.entered(tx):
                yield tx
                self.seal(tx)
        except BaseException:
            self.abandon(tx)
            raise
        self.commit(tx)

    def begin(self, *, is_migration: bool = False) -> Transaction:
        """Become the one writer of the database; end it with `commit` or `abandon`.

        Raises:
            NotBegun: another process, or an outage of PostgreSQL, lasts longer than the limits allow.
        """
        self._write_lock.acquire()
        return self._begun(is_migration=is_migration)

    def begin_at_once(self) -> Transaction | None:
        """`begin` without waiting: None where another writer is at work."""
        if not self._write_lock.acquire(blocking=False):
            return None
        try:
            return self._begun(busy_timeout_ms=0)
        except OperationalError:
            return None

    def _begun(self, *, busy_timeout_ms: int = sqlite.BUSY_TIMEOUT_MS, is_migration: bool = False) -> Transaction:
        try:
            connection = self._connect()
            try:
                if self._database is None:
                    sqlite.begin_immediate(connection, busy_timeout_ms)
                else:
                    self._lock_postgresql(connection, is_migration)
            except BaseException:
                connection.close()
                raise
        except BaseException as error:
            self._write_lock.release()
            if not self.is_sqlite and is_unreachable(error):
                raise NotBegun(error) from error
            raise
        return Transaction(connection)

    def _lock_postgresql(self, connection: Connection, is_migration: bool) -> None:
        from attestlab.core.db import postgresql

        assert self._database is not None
        limits = postgresql.MIGRATIONS if is_migration else self._database.limits
        driver = postgresql.driver_of(connection)
        driver.answer_s = limits.answer_s
        if is_migration:  # a statement's own limit is set before it begins
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql(postgresql.writer_statement(limits, WRITER_LOCK))

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
        except BaseException as error:
            self._note_failed_commit(error)
            self.abandon(tx)
            raise CommitUnknown from error
        try:
            tx._tell_committed()
        except BaseException as error:
            self._note_failed_commit(error.__cause__ or error)
            raise
        finally:
            self._end(tx)

    def _note_failed_commit(self, error: BaseException) -> None:
        self.commit_error = error
        self.when_commit_failed(error)

    def touch(self, tx: Transaction) -> None:
        """Change the database without changing what it holds, so that the commit has to write and to sync."""
        if self.is_sqlite:
            tx.connection.exec_driver_sql("PRAGMA user_version=0")
        else:
            from attestlab.core.db.postgresql import require_space

            require_space(tx.connection)
        tx.after_commit(self._forget_commit_error)

    def _forget_commit_error(self) -> None:
        self.commit_error = None

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


class NotBegun(OSError):
    """A write transaction could not begin, so nothing of it happened; another attempt would wait as long."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"The records cannot be written right now: {error_text.text_without_values(cause)}")


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


_OF_THE_MOMENT = frozenset({"OperationalError", "InternalError", "InterfaceError", "DatabaseError", "TimeoutError"})


def is_unreachable(fault: BaseException) -> bool:
    """Whether database or disk could not be reached, locked or read: a matter of the moment, not of the request.

    Told by the names that both drivers, and SQLAlchemy around them, give such errors (PEP 249).
    """
    return isinstance(fault, OSError) or type(fault).__name__ in _OF_THE_MOMENT


def ping(connection: Connection) -> None:
    """Ask the database for a sign of life."""
    connection.execute(text("SELECT 1"))
