"""Rate counters that all processes of an installation share: token buckets, windows, blocks.

The counts are exact while the machine runs and only as durable as necessary: after a power cut, a
client may send a few more requests. So they are kept outside the records: in a separate file that
is not synced, or in an unlogged table.

A token bucket is stored as one moment, at which the bucket is full again (generic cell rate
algorithm, GCRA). Taking a token moves that moment later by the time one token takes to refill, and
is allowed while it stays within the time of a full bucket. A window begins with its first request.

A moment later than its bucket, window or block can reach was written while a clock was wrong. Up to
`MAX_CLOCK_SKEW_S` too late, it counts as the latest reachable moment, which is also what clients read; beyond
that, it counts as now. So no limit outlasts a clock error. On PostgreSQL `now` is the database's time on every
host (`core/clock.py`).
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from attestlab.core import atomic_files
from attestlab.core.errors import Unavailable

if TYPE_CHECKING:
    from attestlab.core.db.postgresql import Reachability

FILE_NAME = "counters.db"
SECOND = 1_000_000  # moments are whole microseconds since 1970
BUSY_TIMEOUT_MS = 1_000
FULL_BUCKET_S = 10  # a full bucket lasts this long at twice the rate
MAX_CLOCK_SKEW_S = 60  # between the machines that share the counts
MAX_WINDOW_S = 2 * 86_400  # no bucket, window or block reaches further
_TABLE = "(key TEXT PRIMARY KEY, until BIGINT NOT NULL, used BIGINT NOT NULL)"
# The moment a bucket is full again, as of now, capped at `room`, the time that an empty bucket takes to refill.
_FULL_AT = """CASE WHEN counters.until <= :now OR counters.until > :latest THEN :now
  WHEN counters.until > :now + :room THEN :now + :room ELSE counters.until END"""
# A denial writes a row only where it caps such a moment, and marks the row with `used` 0.
_TAKE = f"""
INSERT INTO counters (key, until, used) VALUES (:key, :now + :interval, 1)
ON CONFLICT (key) DO UPDATE SET
  used = CASE WHEN {_FULL_AT} + :interval <= :now + :room THEN 1 ELSE 0 END,
  until = {_FULL_AT} + CASE WHEN {_FULL_AT} + :interval <= :now + :room THEN :interval ELSE 0 END
WHERE {_FULL_AT} + :interval <= :now + :room OR counters.until > :now + :room
RETURNING until, used"""
_COUNT = """
INSERT INTO counters (key, until, used) VALUES (:key, :now + :window, :cost)
ON CONFLICT (key) DO UPDATE SET
  used = CASE WHEN counters.until > :now AND counters.until <= :latest THEN counters.used ELSE 0 END + :cost,
  until = CASE WHEN counters.until > :now AND counters.until < :now + :window THEN counters.until
    ELSE :now + :window END
WHERE counters.until <= :now OR counters.until > :latest OR counters.used + :cost <= :limit
RETURNING until, used"""
_KNOWN = "CASE WHEN counters.used > :known THEN counters.used ELSE :known END"
_SPEND = f"""
INSERT INTO counters (key, until, used) VALUES (:key, :until, :known + :cost)
ON CONFLICT (key) DO UPDATE SET used = {_KNOWN} + :cost WHERE {_KNOWN} + :cost <= :limit
RETURNING used"""
_PEEK = "SELECT until, used FROM counters WHERE key = :key"
_SET = """
INSERT INTO counters (key, until, used) VALUES (:key, :until, :span)
ON CONFLICT (key) DO UPDATE SET until = :until, used = :span"""
_DELETE_EXPIRED = "DELETE FROM counters WHERE until < :now OR until > :latest"
_DELETE = "DELETE FROM counters WHERE key = :key"


class Count(NamedTuple):
    """The result of a limit check: whether it is allowed, what remains, and when the limit resets."""

    allowed: bool
    limit: int
    remaining: int
    window_s: int
    reset_at: float  # Unix time
    retry_after_s: float  # 0 if allowed


Bindings = dict[str, str | int]
CounterRow = Sequence[int]
"""`until` and `used` of a counter, or those of them that the statement returns."""


class CounterStore(Protocol):
    """A database for counters: runs one statement atomically and returns its first row."""

    def run(self, statement: str, values: Bindings) -> CounterRow | None: ...

    def share_reads(self) -> AbstractContextManager[None]: ...

    def close(self) -> None: ...


class Counters:
    """Rate limits, windows and blocks that are not part of the records."""

    def __init__(self, engine: CounterStore) -> None:
        self._engine = engine

    @classmethod
    def open(cls, records: URL, folder: Path, *, reachability: Reachability | None = None) -> Counters:
        """Open the counters next to these records: a file in `folder` for SQLite, else a table of their database.

        `reachability` is shared with the process's other connections to that database.
        """
        is_sqlite = records.get_backend_name() == "sqlite"
        return cls(_FileStore(folder / FILE_NAME) if is_sqlite else _TableStore(records, reachability))

    @classmethod
    def in_memory(cls) -> Counters:
        """Open counters of this process alone, which end with it."""
        return cls(_FileStore(Path(":memory:")))

    def share_reads(self) -> AbstractContextManager[None]:
        """Let this thread read each count once in the block, on PostgreSQL; in a file a read costs nothing."""
        return self._engine.share_reads()

    def take(self, key: str, *, per_minute: int, now: datetime, cost: int = 1, refill_s: int = FULL_BUCKET_S) -> Count:
        """Take `cost` tokens, at most a full bucket, from a bucket that refills at `per_minute` within `refill_s`."""
        at, interval = _moment(now), -(-60 * SECOND // max(per_minute, 1))
        room = max(refill_s * SECOND, interval)
        values: Bindings = {"key": key, "now": at, "interval": min(cost * interval, room), "room": room}
        values["latest"] = _latest(at, room)
        row = self._engine.run(_TAKE, values) if per_minute > 0 else None
        row = row if row and row[1] else None
        return self._bucket(key, per_minute, at, interval, row, room)

    def peek(self, key: str, *, per_minute: int, now: datetime) -> Count:
        """Return the state of a bucket without taking a token."""
        at, interval = _moment(now), -(-60 * SECOND // max(per_minute, 1))
        row = self._engine.run(_PEEK, {"key": key})
        return self._bucket(key, per_minute, at, interval, row or (at,))

    def full_bucket(self, *, per_minute: int, now: datetime) -> Count:
        """Return the state of a full bucket, without a query."""
        at, interval = _moment(now), -(-60 * SECOND // max(per_minute, 1))
        return self._bucket("", per_minute, at, interval, (at,))

    def _bucket(
        self, key: str, per_minute: int, at: int, interval: int, row: CounterRow | None, room: int = 0
    ) -> Count:
        room = room or max(FULL_BUCKET_S * SECOND, interval)
        until = row[0] if row else self._until(key, at)
        until = at if until > _latest(at, room) else min(until, at + room)
        remaining = max(0, (room - max(0, until - at)) // interval)
        retry_after_s = 0.0 if row else max(until + interval - room - at, 1) / SECOND
        return Count(row is not None, per_minute, remaining, 60, max(until, at) / SECOND, retry_after_s)

    def count(self, key: str, *, limit: int, window_s: int, now: datetime, cost: int = 1) -> Count:
        """Count `cost` within a window that begins with its first request; a denied request is not counted."""
        at = _moment(now)
        values: Bindings = {"key": key, "now": at, "window": window_s * SECOND, "cost": cost, "limit": limit}
        latest = values["latest"] = _latest(at, window_s * SECOND)
        row = self._engine.run(_COUNT, values) if cost <= limit else None
        if row is not None:
            return Count(True, limit, limit - row[1], window_s, row[0] / SECOND, 0.0)
        until, used = self._engine.run(_PEEK, {"key": key}) or (at, 0)
        if not at < until <= latest:  # nothing was counted yet, and this request alone exceeds the limit
            until, used = at + window_s * SECOND, 0
        until = min(until, at + window_s * SECOND)
        return Count(False, limit, max(0, limit - used), window_s, until / SECOND, (until - at) / SECOND)

    def spend(self, key: str, *, limit: int, known: int, until: datetime, cost: int = 1) -> bool:
        """Count `cost` towards `limit` unless it would exceed the limit; returns whether it was counted.

        `known` is a lower bound of the count so far, from a durable record; a count that the counters'
        file lost or never had continues from there. After `until` the count may be deleted.
        """
        values: Bindings = {"key": key, "until": _moment(until), "known": known, "cost": cost, "limit": limit}
        return known + cost <= limit and self._engine.run(_SPEND, values) is not None

    def blocked_for_s(self, key: str, *, now: datetime) -> float:
        """Return for how many more seconds a key is blocked; 0 if it is not."""
        at = _moment(now)
        until, span = self._engine.run(_PEEK, {"key": key}) or (at, 0)
        return 0 if until > _latest(at, span) else min(max(0, until - at), span) / SECOND

    def block(self, key: str, *, for_s: float, now: datetime) -> None:
        """Block a key for `for_s` seconds."""
        span = int(for_s * SECOND)
        self._engine.run(_SET, {"key": key, "until": _moment(now) + span, "span": span})

    def delete_expired(self, *, now: datetime) -> None:
        """Delete buckets, windows and blocks that have expired."""
        at = _moment(now)
        self._engine.run(_DELETE_EXPIRED, {"now": at, "latest": _latest(at, MAX_WINDOW_S * SECOND)})

    def reset(self, key: str) -> None:
        """Delete a count or a block."""
        self._engine.run(_DELETE, {"key": key})

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def _until(self, key: str, at: int) -> int:
        row = self._engine.run(_PEEK, {"key": key})
        return row[0] if row else at


class _MemoryStore:
    """Counters of this process only, in memory; used while the shared ones cannot be written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def run(self, statement: str, values: Bindings) -> CounterRow | None:
        with self._lock:
            if self._connection is None:
                self._connection = _connect(Path(":memory:"))
            return _run_on_sqlite(self._connection, statement, values)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


class _FileStore:
    """Counters in an SQLite file that is never synced; a file that a power cut damaged is replaced.

    While the disk is full or failing, or another process keeps the file locked, each process counts in
    its own memory, so limits still apply and requests are still served. Only the first request waits for a lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._fallback = _MemoryStore()
        self._is_failing = False

    def run(self, statement: str, values: Bindings) -> CounterRow | None:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                row = _run_on_sqlite(self._connection, statement, values)
                self._restore_lock_timeout(statement)
                return row
            except sqlite3.DatabaseError as error:
                self._disable_lock_timeout()
                self._reopen_if_read_only(error)
                return self._fallback.run(statement, values)

    def _reopen_if_read_only(self, error: sqlite3.DatabaseError) -> None:
        """Close a read-only connection, so that the next statement reopens a file that may be writable by now."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY and self._connection is not None:
            self._connection.close()
            self._connection = None

    def _restore_lock_timeout(self, statement: str) -> None:
        """Wait for locks again after a successful write; a read needs no lock, so its success proves nothing."""
        if self._is_failing and self._connection is not None and statement is not _PEEK:
            self._connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            self._is_failing = False

    def _disable_lock_timeout(self) -> None:
        """Stop waiting for locks until a write succeeds: a lock that outlasts one wait is held for long."""
        if not self._is_failing and self._connection is not None:
            self._connection.execute("PRAGMA busy_timeout=0")
        self._is_failing = True

    def _open(self) -> sqlite3.Connection:
        timeout_ms = 0 if self._is_failing else BUSY_TIMEOUT_MS
        try:
            return _connect(self._path, timeout_ms=timeout_ms)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._path.unlink()
            return _connect(self._path, timeout_ms=timeout_ms)

    def share_reads(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
        self._fallback.close()


def _run_on_sqlite(connection: sqlite3.Connection, statement: str, values: Bindings) -> CounterRow | None:
    row: CounterRow | None = connection.execute(statement, values).fetchone()
    return row


def _connect(path: Path, *, timeout_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    if str(path) != ":memory:":
        atomic_files.ensure_private_database(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=timeout_ms / 1000)
    try:
        for pragma in ("journal_mode=WAL", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"CREATE TABLE IF NOT EXISTS counters {_TABLE} WITHOUT ROWID")
    except BaseException:
        connection.close()
        raise
    return connection


class _TableStore:
    """Counters in an unlogged table of the records' PostgreSQL, which all machines share.

    While it cannot be reached or written (an outage, a full disk, a read-only database), each process counts
    in its own memory.
    """

    def __init__(self, records: URL, reachability: Reachability | None) -> None:
        from attestlab.core.db import postgresql  # loads the driver, which SQLite does not need

        self._database = postgresql.Database(
            records,
            reachability=reachability or postgresql.Reachability(),
            limits=postgresql.REQUESTS,
            isolation_level="AUTOCOMMIT",
            pool_size=4,
        )
        self._table_exists = False
        self._fallback = _MemoryStore()
        self._local = threading.local()  # of each thread: the counts read in its block

    @contextmanager
    def share_reads(self) -> Iterator[None]:
        self._local.known = {}
        try:
            yield
        finally:
            self._local.known = None

    def run(self, statement: str, values: Bindings) -> CounterRow | None:
        """Run a statement; a count that this thread has read in its block is read again only after a change."""
        known: dict[object, CounterRow | None] | None = getattr(self._local, "known", None)
        if known is None:
            return self._run_or_fall_back(statement, values)
        key = values.get("key")
        if statement is not _PEEK:
            known.pop(key, None)
            return self._run_or_fall_back(statement, values)
        if key not in known:
            known[key] = self._run_or_fall_back(statement, values)
        return known[key]

    def _run_or_fall_back(self, statement: str, values: Bindings) -> CounterRow | None:
        try:
            return self._run(statement, values)
        except (DBAPIError, PoolTimeout, Unavailable):
            return self._fallback.run(statement, values)

    def _run(self, statement: str, values: Bindings) -> CounterRow | None:
        with self._database.connect() as connection:
            if not self._table_exists:
                with suppress(DBAPIError):  # another process creates it at the same time
                    connection.exec_driver_sql(f"CREATE UNLOGGED TABLE IF NOT EXISTS counters {_TABLE}")
            result = connection.exec_driver_sql(_name_for_psycopg(statement), dict(values))
            self._table_exists = True
            return result.fetchone() if result.returns_rows else None

    def close(self) -> None:
        self._database.close()
        self._fallback.close()


@cache
def _name_for_psycopg(statement: str) -> str:
    """Write the parameters of a statement as psycopg reads them: once, because it is a fifth of what a count costs."""
    return re.sub(r":(\w+)", r"%(\1)s", statement)


def _latest(at: int, span: int) -> int:
    """Return the latest moment that a bucket, window or block of this span can have reached by `at`."""
    return at + span + MAX_CLOCK_SKEW_S * SECOND


def _moment(now: datetime) -> int:
    return round(now.timestamp() * SECOND)
