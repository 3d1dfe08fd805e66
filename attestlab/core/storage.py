"""The records: one database, many readers, one writer at a time.

SQLite runs in WAL mode with `synchronous=FULL`: NORMAL loses acknowledged commits
in a power cut. A write transaction begins IMMEDIATE on SQLite and takes one
advisory lock on PostgreSQL, so both give the same promise: whoever writes sees
everything that was committed before, and nobody else writes meanwhile.

A transaction gathers its inserts and sends them as `executemany` just before the
commit, where the sealers (the log, the audit chain, the outbox) complete them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, Engine, Executable, Row, Table, create_engine, event, make_url, text
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError
from sqlmodel import SQLModel

from attestlab.core.errors import Unavailable

WRITER_LOCK = 0x61747465  # any constant will do; every writer of one database takes the same
BUSY_TIMEOUT_MS = 15_000
RECALLED_CAP = 10_000

Result = TypeVar("Result")

Sealer = Callable[["Transaction"], None]
AnyRow = Row[*tuple[Any, ...]]


class Transaction:
    """One write transaction: what was read once, what will be inserted, whom to tell.

    `memo` lives as long as the transaction and is for facts read under the writer's
    lock. A buffer is a list that is cut back when a job of a group fails.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.memo: dict[Any, Any] = {}
        self._rows: defaultdict[Table, list[dict[str, Any]]] = defaultdict(list)
        self._buffers: defaultdict[str, list[Any]] = defaultdict(list)
        self._after_commit: list[Callable[[], None]] = []
        self._savepoint: Any = None
        self._in_job = False

    def add(self, table: Table, row: dict[str, Any]) -> None:
        """Insert `row` with the others of its table, at the latest just before the commit."""
        self._rows[table].append(row)

    def exec(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Run a statement that sees, or must follow, everything added before it."""
        if self._in_job and self._savepoint is None:
            self._open_savepoint()
        self.flush()
        return self.connection.execute(statement, parameters)

    def peek(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Read what is committed or flushed, without sending the waiting inserts first."""
        return self.connection.execute(statement, parameters)

    def buffer(self, name: str) -> list[Any]:
        """A list of the transaction's own; a failing job's additions are taken back."""
        return self._buffers[name]

    def after_seal(self, callback: Callable[[], None]) -> None:
        """Call back when log indexes, proofs and the checkpoint are known, still before the commit."""
        self._buffers["after_seal"].append(callback)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call back when the commit is durable, before anyone is answered."""
        self._after_commit.append(callback)

    def flush(self) -> None:
        """Send the waiting inserts, parents before children."""
        if not self._rows:
            return
        waiting, self._rows = self._rows, defaultdict(list)
        for table in sorted(waiting, key=_rank) if len(waiting) > 1 else waiting:
            _insert(self.connection, table, waiting[table])

    def attempt(self, job: Callable[[Transaction], Any]) -> Any:
        """Run one job of a group; if it fails, take back what it did and nothing else."""
        marks = self._marks()
        self._in_job = True
        try:
            result = job(self)
            self._release_savepoint()
        except BaseException:
            self._rewind(marks)
            raise
        finally:
            self._in_job = False
        return result

    def _marks(self) -> tuple[dict[Table, int], dict[str, int], int]:
        self._mark_rows = {table: len(rows) for table, rows in self._rows.items()}
        lengths = {name: len(items) for name, items in self._buffers.items()}
        return self._mark_rows, lengths, len(self._after_commit)

    def _open_savepoint(self) -> None:
        """Send what earlier jobs added, so that the savepoint holds only this job's work."""
        own: defaultdict[Table, list[dict[str, Any]]] = defaultdict(list)
        for table, rows in self._rows.items():
            mark = self._mark_rows.get(table, 0)
            if rows[mark:]:
                own[table] = rows[mark:]
                del rows[mark:]
        self._rows = defaultdict(list, {table: rows for table, rows in self._rows.items() if rows})
        self.flush()
        self._mark_rows.clear()
        self._rows = own
        self._savepoint = self.connection.begin_nested()

    def _release_savepoint(self) -> None:
        if self._savepoint is not None:
            self.flush()
            self._savepoint.commit()
            self._savepoint = None

    def _rewind(self, marks: tuple[dict[Table, int], dict[str, int], int]) -> None:
        rows, buffers, callbacks = marks
        if self._savepoint is not None:
            self._savepoint.rollback()
            self._savepoint = None
        for table in list(self._rows):
            del self._rows[table][rows.get(table, 0) :]
            if not self._rows[table]:
                del self._rows[table]
        for name, items in self._buffers.items():
            del items[buffers.get(name, 0) :]
        del self._after_commit[callbacks:]

    def _run_after_seal(self) -> None:
        callbacks = self._buffers["after_seal"]
        while callbacks:
            waiting, callbacks[:] = list(callbacks), []
            for callback in waiting:
                callback()

    def _tell_committed(self) -> None:
        for callback in self._after_commit:
            callback()


def _insert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """`executemany`. On SQLite straight to the driver, past the work that an ORM-grade insert does for each row."""
    if connection.dialect.name != "sqlite":
        connection.execute(table.insert(), rows)
        return
    statement, writers = _sqlite_insert(table)
    values = [[row[name] if write is None else write(row[name]) for name, write in writers] for row in rows]
    connection.exec_driver_sql(statement, [tuple(row) for row in values])


@cache
def _sqlite_insert(table: Table) -> tuple[str, list[tuple[str, Callable[[Any], Any] | None]]]:
    """The statement for a whole row, and each column's name with what turns its value into the driver's."""
    dialect = sqlite_dialect()
    writers: list[tuple[str, Callable[[Any], Any] | None]] = [
        (column.name, column.type.dialect_impl(dialect).bind_processor(dialect)) for column in table.columns
    ]
    return str(table.insert().compile(dialect=dialect)), writers


_RANKS: dict[str, int] = {}


def _rank(table: Table) -> int:
    """Parents before children: the table's place in the dependency order of all tables."""
    if table.name not in _RANKS:
        _RANKS.update({known.name: rank for rank, known in enumerate(SQLModel.metadata.sorted_tables)})
    return _RANKS[table.name]


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
        self._engine = _sqlite_engine(self.url) if self.is_sqlite else create_engine(self.url, pool_size=8)

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
            known = self._known(connection)
            if known is None:
                return load(connection)
            if name not in known:
                known[name] = load(connection)
            found: Result = known[name]
            return found

    def _known(self, connection: Connection) -> dict[Hashable, Any] | None:
        """What this thread has read since the last commit of anybody else; None where that cannot be told."""
        if not self.is_sqlite or getattr(self._local, "transaction", None) is not None:
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
            tx.connection.commit()
        except BaseException as fault:
            self.abandon(tx)
            raise CommitUnknown from fault
        try:
            tx._tell_committed()
        finally:
            self._end(tx)

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

    def create_tables(self) -> None:
        """Create what is missing straight from the models; the migrations make the same."""
        with self.write() as tx:
            SQLModel.metadata.create_all(tx.connection)

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


def _sqlite_engine(url: URL) -> Engine:
    """Connections that leave BEGIN and COMMIT to us, each with the settings the promise rests on."""
    engine = create_engine(
        url,
        pool_size=0,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "cache_size=-65536",
            "temp_store=MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def upserts(table: Table, *, key: tuple[str, ...], change: Callable[[Any], dict[str, Any]]) -> dict[str, Executable]:
    """Insert a row or, where its `key` exists, `change` it; by the name of the dialect, built once.

    `change` gets the columns that were to be inserted.
    """
    built: dict[str, Executable] = {}
    for dialect, insert in (("sqlite", sqlite_insert), ("postgresql", postgresql_insert)):
        statement: Any = insert(table)
        built[dialect] = statement.on_conflict_do_update(index_elements=key, set_=change(statement.excluded))
    return built


def ping(connection: Connection) -> None:
    """Ask the database for a sign of life."""
    connection.execute(text("SELECT 1"))
