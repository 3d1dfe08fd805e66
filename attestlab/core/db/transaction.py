"""One write transaction: what was read once, what will be inserted, whom to tell.

Inserts are gathered and sent as `executemany`, parents before children. A job of a
group that fails is taken back alone, whatever it had done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, CursorResult, Executable, Row, Table, Update, Uuid, bindparam, update
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

AnyRow = Row[*tuple[Any, ...]]
Writers = list[tuple[int, Callable[[Any], Any]]]
_SQLITE = sqlite_dialect()


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

    def change(self, table: Table, names: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
        """Give the columns `names` of many rows new values, by primary key; `rows` hold both, and maybe more."""
        if self._in_job and self._savepoint is None:
            self._open_savepoint()
        self.flush()
        _update(self.connection, table, names, rows)

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
        """Send the waiting inserts, parents before children; within a job, so that they can be taken back."""
        if self._rows and self._in_job and self._savepoint is None:
            self._open_savepoint()
        self._send()

    def _send(self) -> None:
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
        self._send()
        self._mark_rows.clear()
        self._rows = own
        self._savepoint = self.connection.begin_nested()

    def _release_savepoint(self) -> None:
        if self._savepoint is not None:
            self._send()
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
    _to_driver(connection, _sqlite_insert(table), rows)


def _update(connection: Connection, table: Table, names: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """`executemany`, on SQLite in the same way."""
    if connection.dialect.name == "sqlite":
        _to_driver(connection, _sqlite_update(table, names), rows)
        return
    wanted = (*names, *(column.name for column in table.primary_key))
    connection.execute(_update_of(table, names), [{f"_{name}": row[name] for name in wanted} for row in rows])


class _Statement:
    """A statement for many rows, as the driver takes it: its text, and how a row becomes its parameters."""

    def __init__(self, text: str, table: Table, names: list[str]) -> None:
        self.text = text
        self._pick = itemgetter(*names)
        writers = ((place, column_writer(table, name)) for place, name in enumerate(names))
        self._writers: Writers = [(place, write) for place, write in writers if write is not None]

    def parameters(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """The values of a row, in the driver's order and in its types."""
        values = list(self._pick(row))
        for place, write in self._writers:
            values[place] = write(values[place])
        return tuple(values)


def _to_driver(connection: Connection, statement: _Statement, rows: list[dict[str, Any]]) -> None:
    connection.exec_driver_sql(statement.text, [statement.parameters(row) for row in rows])


@cache
def _sqlite_insert(table: Table) -> _Statement:
    return _Statement(str(table.insert().compile(dialect=_SQLITE)), table, [column.name for column in table.columns])


@cache
def _sqlite_update(table: Table, names: tuple[str, ...]) -> _Statement:
    compiled = _update_of(table, names).compile(dialect=_SQLITE)
    return _Statement(str(compiled), table, [name.removeprefix("_") for name in compiled.positiontup or []])


@cache
def _update_of(table: Table, names: tuple[str, ...]) -> Update:
    """Each value is a parameter with the name of its column and `_` before it."""
    keys = [column == bindparam(f"_{column.name}") for column in table.primary_key]
    return update(table).where(*keys).values({name: bindparam(f"_{name}") for name in names})


def column_writer(table: Table, name: str) -> Callable[[Any], Any] | None:
    """Return the function that converts a column's value for SQLite; None where it is stored as it is.

    Times and ids have an equivalent of SQLAlchemy's bind processor that takes a fraction of its time.
    """
    kind = table.c[name].type.dialect_impl(_SQLITE)
    if isinstance(kind, UTCDateTime):
        return _spelt
    if isinstance(kind, Uuid):
        return _hex if table.c[name].nullable else attrgetter("hex")
    return kind.bind_processor(_SQLITE)


def _hex(value: UUID | None) -> str | None:
    return None if value is None else value.hex


@lru_cache(maxsize=1_024)
def _spelt(at: datetime | None) -> str | None:
    """A time as SQLite keeps it, in UTC; one moment stands in several rows of a transaction.

    Raises:
        ValueError: it has no offset, so that nobody can say which moment it is.
    """
    if at is None:
        return None
    if at.utcoffset() is None:
        raise ValueError(f"{at!r} has no offset; times are aware, in UTC.")
    return at.astimezone(UTC).isoformat(" ", "microseconds")[:26]


_RANKS: dict[str, int] = {}


def _rank(table: Table) -> int:
    """Parents before children: the table's place in the dependency order of all tables."""
    if table.name not in _RANKS:
        _RANKS.update({known.name: rank for rank, known in enumerate(SQLModel.metadata.sorted_tables)})
    return _RANKS[table.name]
