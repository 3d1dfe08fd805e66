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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, CursorResult, Engine, Executable, Row, Table, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlmodel import SQLModel

from attestlab.core.errors import AttestLabError

WRITER_LOCK = 0x61747465  # any constant will do; every writer of one database takes the same
BUSY_TIMEOUT_MS = 15_000

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
            self.connection.execute(table.insert(), waiting[table])

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
        with self._write_lock, self._begin() as connection:
            tx = self._local.transaction = Transaction(connection)
            try:
                yield tx
                self._seal(tx)
                self.commit(connection)
            except BaseException:
                connection.rollback()
                raise
            finally:
                self._local.transaction = None
            tx._tell_committed()

    def commit(self, connection: Connection) -> None:
        """The one place where a write becomes durable."""
        try:
            connection.commit()
        except BaseException as fault:
            raise CommitUnknown("The commit was not confirmed; what it held may or may not be stored.") from fault

    def _seal(self, tx: Transaction) -> None:
        for sealer in self.sealers:
            sealer(tx)
        tx._run_after_seal()
        for closer in self.closers:
            closer(tx)
        tx.flush()

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITER_LOCK})")
            yield connection

    def create_tables(self) -> None:
        """Create what is missing straight from the models; the migrations make the same."""
        with self._begin() as connection:
            SQLModel.metadata.create_all(connection)
            connection.commit()

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


class CommitUnknown(AttestLabError):
    """The database did not say whether the commit happened; repeating it blindly could do it twice."""

    code = "SERVICE_UNAVAILABLE"


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


def ping(connection: Connection) -> None:
    """Ask the database for a sign of life."""
    connection.execute(text("SELECT 1"))
