"""Connections to PostgreSQL that limit every wait: limits on both sides, and one memory of an outage.

A connection can fall silent without an end: its host is gone, a firewall forgot it, a cable is cut.

- The kernels find it (keepalives and `tcp_user_timeout`, set for the client and for the server).
- The server limits statements, waits for locks, and transactions that idle while they hold the writer's lock.
- The client limits the wait for an answer, because a proxy may confirm every byte and deliver none.

All connections of a process share a `Reachability`. The first that gets no answer records the silence; until
a probe succeeds, the others fail at once instead of each waiting in a thread of its own.

Which limits apply depends on the work: a server's connections have those of `REQUESTS`. Commands, exports and
checks run statements of minutes, so theirs (`COMMANDS`) limit locks and leave statements alone. A migration
(`MIGRATIONS`) waits for whatever it needs.

Settings of a session are lost behind PgBouncer in transaction mode. So the writer's limits, on which others
depend, are set for each transaction (`writer_statement`).
"""

from __future__ import annotations

import select
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.errors import ConnectionTimeout
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DisconnectionError

from attestlab.core.clock import DatabaseClock
from attestlab.core.errors import Unavailable, ValidationFailed

CONNECT_TIMEOUT_S = 4
PROBE_TIMEOUT_S = 3.0
MIN_PROBE_INTERVAL_S = 0.5
POOL_TIMEOUT_S = 5
# Both sides close a connection whose other host is gone after 25 seconds, or 15 where bytes are on their way.
KEEPALIVES = {"idle": 10, "interval": 5, "count": 3}
TCP_USER_TIMEOUT_MS = 15_000
CLIENT_OPTIONS: dict[str, int] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "keepalives": 1,
    **{f"keepalives_{name}": value for name, value in KEEPALIVES.items()},
    "tcp_user_timeout": TCP_USER_TIMEOUT_MS,
}

NO_ENCODING = (
    "The database's encoding is SQL_ASCII, which does not keep text; "
    "create one with ENCODING 'UTF8' TEMPLATE template0 and name it in the URL."
)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """How long a connection may wait for each thing, in seconds; 0 is without a limit on the server."""

    statement_s: float
    lock_s: float
    idle_in_write_s: float  # between two statements of a write transaction, which holds the writer's lock
    answer_s: float  # what the client waits for; longer than the server's own limits

    def of_session(self) -> dict[str, str]:
        """The server's settings for a connection. A name that an older server does not know is left out there."""
        return {
            "TimeZone": "UTC",
            "statement_timeout": _ms(self.statement_s),
            "lock_timeout": _ms(self.lock_s),
            **{f"tcp_keepalives_{name}": str(value) for name, value in KEEPALIVES.items()},
            "tcp_user_timeout": str(TCP_USER_TIMEOUT_MS),
        }

    def of_write(self) -> dict[str, str]:
        """The server's settings for one write transaction."""
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
        super().__init__("The records cannot be reached right now; try again shortly.", retry_after_s=5)


class Reachability:
    """Whether the database answers, as all connections of one process have found; shared by their threads."""

    def __init__(self) -> None:
        self._probing = threading.Lock()
        self._is_silent = False
        self._next_probe_at = 0.0
        self.is_cut = False

    def lost(self) -> None:
        """Record that a connection got no answer in time."""
        self._is_silent = True

    def cut(self) -> None:
        """End every wait for the database, and refuse further ones: the process ends."""
        self.is_cut = True

    @contextmanager
    def required(self) -> Iterator[bool]:
        """Require that the database answers; True asks the caller to find out, by a probe within the block.

        Raises:
            Unreachable: it was silent, and another thread is probing or has just probed.
        """
        if self.is_cut:
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


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that ends itself when an answer takes longer than `answer_s`, or the process ends."""

    reachability: Reachability
    answer_s: float = CONNECT_TIMEOUT_S

    def wait(self, gen: Generator[Any, Any, Result], *arguments: Any, **options: Any) -> Result:
        """Wait for an answer.

        Raises:
            OperationalError: it did not come in time. The connection is closed.
        """
        return super().wait(self._limited(gen), *arguments, **options)

    def _limited(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        """Pass the driver's waits through; the driver resumes them ten times a second while nothing arrives."""
        deadline = monotonic() + self.answer_s
        try:
            wanted = next(gen)
            while True:
                while not (ready := (yield wanted)):
                    self._require_time(deadline)
                wanted = gen.send(ready)
        except StopIteration as end:
            found: Result = end.value
            return found

    def _require_time(self, deadline: float) -> None:
        if monotonic() < deadline and not self.reachability.is_cut:
            return
        self.reachability.lost()
        self.close()
        raise psycopg.OperationalError(f"no answer from the database within {self.answer_s:g} s")


class Database:
    """The pool of a process's connections to one database, with their limits."""

    def __init__(self, url: URL, *, reachability: Reachability, limits: Limits, **options: Any) -> None:
        self.limits = limits
        self.clock = DatabaseClock()
        self._reachability = reachability
        given = {name: value for name, value in CLIENT_OPTIONS.items() if name not in url.query}
        self.engine: Engine = create_engine(
            url, connect_args=given, pool_timeout=POOL_TIMEOUT_S, hide_parameters=True, **options
        )
        event.listen(self.engine, "do_connect", self._connected)
        event.listen(self.engine, "connect", self._configure)
        event.listen(self.engine, "checkout", _require_open)

    def connect(self) -> Connection:
        """Take a connection from the pool.

        Raises:
            Unreachable: the database has not answered for some time.
        """
        with self._reachability.required() as is_probe:
            if is_probe:
                self._probe()
        connection = self.engine.connect()
        driver_of(connection).answer_s = self.limits.answer_s
        return connection

    def limit(self, limits: Limits) -> None:
        """Give all connections that are opened from now on other limits, and close those that rest."""
        self.limits = limits
        self.engine.dispose()

    def measure_clock(self) -> None:
        """Compare the clock with the database's."""
        with self.connect() as connection:
            self._measure_clock(driver_of(connection))
            connection.rollback()

    def _probe(self) -> None:
        """Ask for a sign of life, on a new connection where those that rest were lost."""
        with self.engine.connect() as connection, answering_within(connection, PROBE_TIMEOUT_S):
            connection.exec_driver_sql("SELECT 1")

    def _connected(self, _dialect: Any, _record: Any, arguments: Any, options: Any) -> LimitedConnection:
        """Connect, for SQLAlchemy.

        Raises:
            ValidationFailed: the database has no encoding, so that text would come back as bytes.
        """
        try:
            made = LimitedConnection.connect(*arguments, **options)
        except ConnectionTimeout:
            self._reachability.lost()
            raise
        made.reachability = self._reachability
        if made.info.parameter_status("server_encoding") == "SQL_ASCII":
            made.close()
            raise ValidationFailed(NO_ENCODING)
        return made

    def _configure(self, connection: LimitedConnection, _record: Any) -> None:
        """Set up a new connection in one statement: limits, time zone, and commits that are waited for.

        In a zone east of Greenwich the last hours of the year 9999 cannot be read back.
        """
        settings = self.limits.of_session()
        wanted = ", ".join(["(%s, %s)"] * len(settings))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config(name, CASE WHEN name <> 'synchronous_commit' THEN wanted "
                "WHEN setting = 'off' THEN 'on' ELSE setting END, false) "
                f"FROM pg_settings JOIN (VALUES {wanted}, ('synchronous_commit', 'on')) AS ours (name, wanted) "
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
        self.clock.measured(row[0], sent_at=sent_at, received_at=monotonic())


def _require_open(connection: LimitedConnection, _record: Any, _proxy: Any) -> None:
    """Replace a connection that the server closed while it rested in the pool: then its socket can be read."""
    resting = select.poll()
    resting.register(connection.fileno(), select.POLLIN)
    if resting.poll(0):
        raise DisconnectionError("the server closed the connection")


def require_space(connection: Connection) -> None:
    """Make the database write: a table, a page of it, and their end.

    A transaction alone succeeds where the database is read-only, and where its disk has no room for another page.
    """
    connection.exec_driver_sql("SET LOCAL temp_tablespaces = ''")  # those of the records themselves
    connection.exec_driver_sql("CREATE TEMPORARY TABLE write_probe AS SELECT repeat('x', 1000) AS filler")
    connection.exec_driver_sql("DROP TABLE write_probe")


def driver_of(connection: Connection) -> LimitedConnection:
    """The driver's connection below SQLAlchemy's."""
    found: Any = connection.connection.dbapi_connection
    assert isinstance(found, LimitedConnection)
    return found


@contextmanager
def answering_within(connection: Connection, answer_s: float) -> Iterator[None]:
    """Within, each answer on this connection may take so long."""
    driver = driver_of(connection)
    before, driver.answer_s = driver.answer_s, answer_s
    try:
        yield
    finally:
        driver.answer_s = before


def writer_statement(limits: Limits, lock: int) -> str:
    """The first statement of a write transaction: sets its limits, then takes the advisory lock `lock`."""
    settings = (f"set_config('{name}', '{value}', true)" for name, value in limits.of_write().items())
    return f"SELECT {', '.join(settings)}, pg_advisory_xact_lock({lock})"


def _ms(seconds: float) -> str:
    return str(int(seconds * 1000))
