"""PostgreSQL connections with a limit on every wait, and a shared record of outages.

A connection can fall silent without being closed: its host is gone, a firewall dropped it, a cable is cut.

- The kernels detect this (keepalives and `tcp_user_timeout`, set for the client and for the server).
- The server limits statements, waits for locks, and transactions that idle while they hold the writer's lock.
- The client limits the wait for an answer, because a proxy may acknowledge every byte and deliver none.

All connections of a process share a `Reachability`. The first connection that gets no answer records the
outage. Until a probe succeeds, the others fail immediately instead of each blocking a thread.

The limits depend on the work: a server's connections have those of `REQUESTS`. Commands, exports and checks
run statements of minutes, so `COMMANDS` limits waits for locks and not statements. A migration
(`MIGRATIONS`) has practically no limit.

Session settings are lost behind PgBouncer in transaction mode. So the limits of write transactions, on which
other writers depend, are set in each transaction (`writer_statement`).
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import ConnectionTimeout
from psycopg.rows import TupleRow
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from attestlab.core.clock import DatabaseClock
from attestlab.core.db import copying, read_ahead
from attestlab.core.db.read_ahead import ReadAhead
from attestlab.core.db.transaction import Foreseen
from attestlab.core.errors import Unavailable, ValidationFailed

CONNECT_TIMEOUT_S = 4
PROBE_TIMEOUT_S = 3.0
MIN_PROBE_INTERVAL_S = 0.5
POOL_TIMEOUT_S = 5
WRITER_LOCK = 0x61747465  # an arbitrary constant, the same for every writer of one database
# Each side closes a connection whose other host is gone after 25 seconds, or after 15 if sent bytes are unconfirmed.
KEEPALIVES = {"idle": 10, "interval": 5, "count": 3}
TCP_USER_TIMEOUT_MS = 15_000
CLIENT_OPTIONS: dict[str, int] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "keepalives": 1,
    **{f"keepalives_{name}": value for name, value in KEEPALIVES.items()},
    "tcp_user_timeout": TCP_USER_TIMEOUT_MS,
}

NO_ENCODING = (
    "The database's encoding is SQL_ASCII, which does not preserve text. "
    "Create a database with ENCODING 'UTF8' TEMPLATE template0 and use its name in the URL."
)

Result = TypeVar("Result")
_POOL_NUMBER = "attestlab_pool_number"


@dataclass(frozen=True)
class Limits:
    """Time limits of a connection, in seconds; on the server, 0 means no limit."""

    statement_s: float
    lock_s: float
    idle_in_write_s: float  # between two statements of a write transaction, which holds the writer's lock
    answer_s: float  # how long the client waits; longer than the server's own limits

    def of_session(self) -> dict[str, str]:
        """Return the server settings of a connection; `_configure` skips names that an older server does not know."""
        return {
            "TimeZone": "UTC",
            "statement_timeout": _ms(self.statement_s),
            "lock_timeout": _ms(self.lock_s),
            **{f"tcp_keepalives_{name}": str(value) for name, value in KEEPALIVES.items()},
            "tcp_user_timeout": str(TCP_USER_TIMEOUT_MS),
        }

    def of_write(self) -> dict[str, str]:
        """Return the server settings of one write transaction."""
        return {
            "lock_timeout": _ms(self.lock_s),
            "statement_timeout": _ms(self.statement_s),
            "idle_in_transaction_session_timeout": _ms(self.idle_in_write_s),
        }


REQUESTS = Limits(statement_s=10, lock_s=6, idle_in_write_s=15, answer_s=12)
COMMANDS = Limits(statement_s=0, lock_s=60, idle_in_write_s=60, answer_s=3600)
MIGRATIONS = Limits(statement_s=0, lock_s=0, idle_in_write_s=0, answer_s=86_400)


class DatabaseUnreachable(Unavailable):
    """The database does not answer; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("The database does not answer. Retry in 5 seconds.", retry_after_s=5)


class Reachability:
    """Whether the database answers; shared by all connections and threads of one process."""

    def __init__(self) -> None:
        self._probing = threading.Lock()
        self._is_silent = False
        self._next_probe_at = 0.0
        self.is_cancelled = False

    def record_silence(self) -> None:
        """Record that a connection got no answer in time."""
        self._is_silent = True

    def cancel_waits(self) -> None:
        """Cancel every wait for the database and reject further ones, because the process ends."""
        self.is_cancelled = True

    @contextmanager
    def require(self) -> Iterator[bool]:
        """Require that the database answers; yields True if the caller must probe it within the block.

        Raises:
            DatabaseUnreachable: it did not answer, and another thread is probing or has just probed.
        """
        if self.is_cancelled:
            raise DatabaseUnreachable
        if not self._is_silent:
            yield False
            return
        if monotonic() < self._next_probe_at or not self._probing.acquire(blocking=False):
            raise DatabaseUnreachable
        try:
            yield True
            self._is_silent = False
        finally:
            self._next_probe_at = monotonic() + MIN_PROBE_INTERVAL_S
            self._probing.release()


class LimitedConnection(psycopg.Connection[TupleRow]):
    """A connection that closes itself when an answer takes longer than `answer_s`, or when the process ends."""

    reachability: Reachability
    answer_s: float = CONNECT_TIMEOUT_S

    def wait(self, gen: PQGen[Result], *arguments: Any, **options: Any) -> Result:  # the driver's, passed on
        """Wait for an answer of the server.

        Raises:
            OperationalError: no answer arrived in time; the connection is closed.
        """
        return super().wait(self._with_deadline(gen), *arguments, **options)

    def _with_deadline(self, gen: PQGen[Result]) -> PQGen[Result]:
        """Delegate to the driver's wait and check the deadline; the driver resumes it ten times a second."""
        deadline = monotonic() + self.answer_s
        try:
            event = next(gen)
            while True:
                while not (ready := (yield event)):
                    self._require_time_left(deadline)
                event = gen.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _require_time_left(self, deadline: float) -> None:
        if monotonic() < deadline and not self.reachability.is_cancelled:
            return
        self.reachability.record_silence()
        self.close()
        raise psycopg.OperationalError(f"no answer from the database within {self.answer_s:g} s")


class Database:
    """The pool of a process's connections to one database, with their limits."""

    def __init__(
        self,
        url: URL,
        *,
        reachability: Reachability,
        limits: Limits,
        on_connections: Callable[[int], None] = lambda _in_use: None,
        **options: object,
    ) -> None:
        self.limits = limits
        self.clock = DatabaseClock()
        self._reachability = reachability
        self._pool_number = 0  # of the engine's pool; the next one replaces it when its connections are closed
        self._is_closed = False
        defaults = {name: value for name, value in CLIENT_OPTIONS.items() if name not in url.query}
        self.engine: Engine = create_engine(
            url, connect_args=defaults, pool_timeout=POOL_TIMEOUT_S, hide_parameters=True, **options
        )
        event.listen(self.engine, "do_connect", self._open_connection)
        event.listen(self.engine, "connect", self._configure)
        read_ahead.accept_reads_ahead(self.engine)
        copying.accept_copies(self.engine)
        event.listen(self.engine, "checkout", _require_open)
        event.listen(self.engine, "checkout", lambda *_: on_connections(self._count_in_use()))
        event.listen(self.engine, "checkin", lambda *_: on_connections(self._count_in_use() - 1))
        event.listen(self.engine, "checkin", self._close_if_replaced)

    def connect(self) -> Connection:
        """Take a connection from the pool.

        Raises:
            DatabaseUnreachable: the database has not answered for some time.
        """
        with self._reachability.require() as must_probe:
            if must_probe:
                self._probe()
        connection = self.engine.connect()
        driver_of(connection).answer_s = self.limits.answer_s
        return connection

    def lock_writer(self, connection: Connection, foreseen: Foreseen, *, is_migration: bool) -> float:
        """Begin a transaction, take the writer's lock and read what is foreseen; returns when the lock was granted.

        That is in seconds of the monotonic clock. The answers come with the lock, after which they took their time.
        """
        limits = MIGRATIONS if is_migration else self.limits
        driver_of(connection).answer_s = limits.answer_s
        reads = ReadAhead(connection)
        reads.note(foreseen)
        if is_migration:  # a statement's own limit is set before it begins
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        took = reads.send_with(writer_statement(limits))
        return monotonic() - took.total_seconds()

    def _count_in_use(self) -> int:
        """Return the number of connections in use; one that is returned just now still counts."""
        assert isinstance(self.engine.pool, QueuePool)
        return self.engine.pool.checkedout()

    def limit(self, limits: Limits) -> None:
        """Set the limits of all connections opened from now on, and close the idle ones."""
        self.limits = limits
        self._replace_pool()

    def close(self) -> None:
        """Close the idle connections now, and each that a thread still uses when it returns that one."""
        self._is_closed = True
        self._replace_pool()

    def _replace_pool(self) -> None:
        self._pool_number += 1
        self.engine.dispose()

    def _close_if_replaced(self, _connection: object, record: ConnectionPoolEntry) -> None:
        """Close a connection that is returned to a pool from which no one takes it again."""
        if self._is_closed or record.info.get(_POOL_NUMBER) != self._pool_number:
            record.invalidate()

    def measure_clock(self) -> None:
        """Measure the database's clock."""
        with self.connect() as connection:
            self._measure_clock(driver_of(connection))
            connection.rollback()

    def _probe(self) -> None:
        """Check that the database answers, on a new connection if the idle ones were lost."""
        with self.engine.connect() as connection, answer_timeout(connection, PROBE_TIMEOUT_S):
            connection.exec_driver_sql("SELECT 1")

    def _open_connection(
        self,
        _dialect: object,
        _record: object,
        arguments: Sequence[str],
        options: Mapping[str, Any],  # of psycopg
    ) -> LimitedConnection:
        """Open a connection; SQLAlchemy calls this for each new connection of the pool.

        Raises:
            ValidationFailed: the database has no encoding, so text would come back as bytes.
        """
        try:
            connection = LimitedConnection.connect(*arguments, **options)
        except ConnectionTimeout:
            self._reachability.record_silence()
            raise
        connection.reachability = self._reachability
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            connection.close()
            raise ValidationFailed(NO_ENCODING)
        return connection

    def _configure(self, connection: LimitedConnection, record: ConnectionPoolEntry) -> None:
        """Set up a new connection in one statement: limits, time zone UTC, and synchronous commits.

        In a time zone east of Greenwich the last hours of the year 9999 cannot be read back.
        """
        record.info[_POOL_NUMBER] = self._pool_number
        settings = self.limits.of_session()
        values = ", ".join(["(%s, %s)"] * len(settings))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config(name, CASE WHEN name <> 'synchronous_commit' THEN wanted "
                "WHEN setting = 'off' THEN 'on' ELSE setting END, false) "
                f"FROM pg_settings JOIN (VALUES {values}, ('synchronous_commit', 'on')) AS ours (name, wanted) "
                "USING (name)",
                [text for setting in settings.items() for text in setting],
            )
        self._measure_clock(connection)
        connection.commit()
        connection.answer_s = self.limits.answer_s

    def _measure_clock(self, connection: LimitedConnection) -> None:
        sent_at = monotonic()
        with connection.cursor() as cursor:
            row = cursor.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None  # a SELECT without FROM has one row
        self.clock.add_measurement(row[0], sent_at=sent_at, received_at=monotonic())


def _require_open(connection: LimitedConnection, _record: object, _proxy: object) -> None:
    """Reject a pooled connection whose socket is readable: the server closed it while it was idle."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise DisconnectionError("the server closed the connection")


def require_space(connection: Connection) -> None:
    """Check that the database can write: creates a temporary table with one row and drops it.

    An empty transaction would succeed on a read-only database or a full disk.
    """
    connection.exec_driver_sql("SET LOCAL temp_tablespaces = ''")  # the tablespace of the records themselves
    connection.exec_driver_sql("CREATE TEMPORARY TABLE write_probe AS SELECT repeat('x', 1000) AS filler")
    connection.exec_driver_sql("DROP TABLE write_probe")


def driver_of(connection: Connection) -> LimitedConnection:
    """Return the driver's connection below SQLAlchemy's."""
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, LimitedConnection)
    return driver


@contextmanager
def answer_timeout(connection: Connection, answer_s: float) -> Iterator[None]:
    """Limit each wait for an answer on this connection to `answer_s`, within the block."""
    driver = driver_of(connection)
    before, driver.answer_s = driver.answer_s, answer_s
    try:
        yield
    finally:
        driver.answer_s = before


def writer_statement(limits: Limits) -> str:
    """Build the first statement of a write transaction: it sets the limits, then takes the writer's lock.

    Its last column is the database's time when the lock was granted.
    """
    settings = (f"set_config('{name}', '{value}', true)" for name, value in limits.of_write().items())
    return f"SELECT {', '.join(settings)}, pg_advisory_xact_lock({WRITER_LOCK}), clock_timestamp()"


def _ms(seconds: float) -> str:
    return str(int(seconds * 1000))
