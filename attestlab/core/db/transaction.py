"""One write transaction: cached reads, buffered inserts, and callbacks for after the commit.

Inserts are buffered and sent table by table, parents before children. When one job of a
group fails, only that job is rolled back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import attrgetter, itemgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Executable, Float, Insert, NestedTransaction, Table, Update, Uuid, bindparam, update
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.core.db.tables import Execute, Result, TableRow

if TYPE_CHECKING:
    from attestlab.core.db.json_upserts import JsonUpdate

BindProcessors = list[tuple[int, Callable[[Any], Any]]]  # SQLAlchemy's, each of its column's type
_SQLITE = sqlite_dialect()


Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Buffer(Generic[Item]):
    """A capability's list of items in each transaction, such as the audit entries to write before the commit.

    The items that a failed job appended are removed.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Buffer({self.name!r})"


VALUES = "values_ahead"  # option of a connection: what its transaction has read ahead


class ReadKind(Protocol):
    """A kind of read whose keys can be named before the transaction begins (`core/db/foreseen_reads.py`)."""

    def ask(self, execute: Execute, keys: Sequence[object], /) -> None:
        """Run the statements that will read these keys, and ignore their answers."""
        ...

    def load(self, tx: Transaction, keys: Sequence[object], /) -> None:
        """Read these keys, if their values are kept for the jobs."""
        ...


Foreseen = dict[ReadKind, dict[Hashable, None]]
"""The keys that the jobs of a group will read, by kind of read, in the order in which they were named."""

Marks = tuple[dict[Table, int], dict[Buffer[Any], int], int]  # buffers of several types


class ManyRows(Protocol):
    """A statement for many rows, such as an `Upsert`."""

    def run_many(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        """Run it for all rows."""
        ...


AFTER_SEQUENCING = Buffer[Callable[[], None]]("after_sequencing")


class Transaction:
    """One write transaction: cached reads, buffered inserts, and callbacks for after the commit.

    `cache` holds facts read under the writer's lock, until the transaction ends. `foreseen` are the keys that its jobs
    will read. `asked_at` and `locked_at` are seconds of the monotonic clock: when its writer asked for the writer's
    lock, and when it had it; by default both are now. `completed_at` is when all was written, just before the commit.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        asked_at: float | None = None,
        locked_at: float | None = None,
        foreseen: Foreseen | None = None,
    ) -> None:
        self.connection = connection
        self.locked_at = monotonic() if locked_at is None else locked_at
        self.asked_at = self.locked_at if asked_at is None else asked_at
        self.completed_at = self.locked_at
        self.cache: dict[Hashable, Any] = {}  # the type depends on the key
        self.foreseen: Foreseen = {} if foreseen is None else foreseen
        self.ahead: dict[Hashable, object] = {}  # by kind, values that no job has asked for
        self._rows: defaultdict[Table, list[TableRow]] = defaultdict(list)
        self._buffers: defaultdict[Buffer[Any], list[Any]] = defaultdict(list)  # of several types
        self._last_rows: defaultdict[ManyRows, list[Mapping[str, object]]] = defaultdict(list)
        self._after_commit: list[Callable[[], None]] = []
        self._savepoint: NestedTransaction | None = None
        self._in_job = False

    def load_foreseen(self) -> None:
        """Read all that is foreseen into `ahead`, which the first statement of a job that changes records empties."""
        self.connection.execution_options(**{VALUES: self.ahead})
        for kind, keys in self.foreseen.items():
            kind.load(self, list(keys))

    def keep_foreseen(self) -> None:
        """Keep what is still in `ahead`, when all jobs have run: what commit hooks write changes none of it."""
        self.cache |= self.ahead
        self.ahead.clear()

    def add(self, table: Table, row: NamedTuple | Mapping[str, object]) -> None:
        """Buffer a record or a mapping of all columns for insertion, at the latest just before the commit."""
        self._rows[table].append(row if isinstance(row, Mapping) else row._asdict())

    def add_rows(self, table: Table, rows: Iterable[tuple[object, ...]]) -> None:
        """Buffer rows for insertion, each with the values of all columns in their order."""
        self._rows[table].extend(rows)

    def add_last(self, statement: ManyRows, row: Mapping[str, object]) -> None:
        """Buffer a row for a statement that runs once, just before the commit; only commit hooks may call this."""
        self._last_rows[statement].append(row)

    def exec(self, statement: Executable, parameters: Any = None) -> Result:  # SQLAlchemy's type is private
        """Send the buffered inserts, then run a statement that sees them or must follow them."""
        if self._in_job and self._savepoint is None:
            self._open_savepoint()
        self.flush()
        return self.connection.execute(statement, parameters)

    def bulk_update(self, table: Table, names: tuple[str, ...], rows: Sequence[Mapping[str, object]]) -> None:
        """Update the columns `names` of many rows by primary key; ignores other items of `rows`."""
        if self._in_job and self._savepoint is None:
            self._open_savepoint()
        self.flush()
        _update(self.connection, table, names, rows)

    def read_unflushed(self, statement: Executable, parameters: Any = None) -> Result:  # as above
        """Read committed and flushed rows without sending the buffered inserts first."""
        return self.connection.execute(statement, parameters)

    def buffer(self, buffer: Buffer[Item]) -> list[Item]:
        """Return the transaction's list of a buffer."""
        return self._buffers[buffer]

    def after_sequencing(self, callback: Callable[[], None]) -> None:
        """Register a callback for when log indexes, proofs and the checkpoint are known, still before the commit."""
        self._buffers[AFTER_SEQUENCING].append(callback)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Register a callback for when the commit is durable, before any response is sent."""
        self._after_commit.append(callback)

    def flush(self) -> None:
        """Send the buffered inserts, parents before children; within a job, under a savepoint."""
        if self._rows and self._in_job and self._savepoint is None:
            self._open_savepoint()
        self._send_inserts()

    def _send_inserts(self) -> None:
        if not self._rows:
            return
        waiting, self._rows = self._rows, defaultdict(list)
        for table in sorted(waiting, key=_rank) if len(waiting) > 1 else waiting:
            _insert(self.connection, table, waiting[table])

    def send_last(self) -> None:
        """Send the buffered inserts, then run the statements of `add_last`."""
        self.flush()
        for statement, rows in self._last_rows.items():
            statement.run_many(self.connection, rows)
        self._last_rows.clear()

    def attempt_job(self, job: Callable[[Transaction], Outcome]) -> Outcome:
        """Run one job of a group; if it fails, roll back that job only."""
        marks = self._set_marks()
        self._in_job = True
        try:
            result = job(self)
            self._release_savepoint()
        except BaseException:
            self._restore(marks)
            raise
        finally:
            self._in_job = False
        return result

    def _set_marks(self) -> Marks:
        self._mark_rows = {table: len(rows) for table, rows in self._rows.items()}
        lengths = {buffer: len(items) for buffer, items in self._buffers.items()}
        return self._mark_rows, lengths, len(self._after_commit)

    def _open_savepoint(self) -> None:
        """Send the rows that earlier jobs added, so that the savepoint covers only this job's work."""
        own: defaultdict[Table, list[TableRow]] = defaultdict(list)
        for table, rows in self._rows.items():
            mark = self._mark_rows.get(table, 0)
            if rows[mark:]:
                own[table] = rows[mark:]
                del rows[mark:]
        self._rows = defaultdict(list, {table: rows for table, rows in self._rows.items() if rows})
        self._send_inserts()
        self._mark_rows.clear()
        self._rows = own
        self._savepoint = self.connection.begin_nested()

    def _release_savepoint(self) -> None:
        if self._savepoint is not None:
            self._send_inserts()
            self._savepoint.commit()
            self._savepoint = None

    def _restore(self, marks: Marks) -> None:
        rows, buffers, callbacks = marks
        if self._savepoint is not None:
            self._savepoint.rollback()
            self._savepoint = None
        for table in list(self._rows):
            del self._rows[table][rows.get(table, 0) :]
            if not self._rows[table]:
                del self._rows[table]
        for buffer, items in self._buffers.items():
            del items[buffers.get(buffer, 0) :]
        del self._after_commit[callbacks:]

    def _run_after_sequencing(self) -> None:
        callbacks = self.buffer(AFTER_SEQUENCING)
        while callbacks:
            waiting, callbacks[:] = list(callbacks), []
            for callback in waiting:
                callback()

    def _run_after_commit(self) -> None:
        for callback in self._after_commit:
            callback()


def _insert(connection: Connection, table: Table, rows: Sequence[TableRow]) -> None:
    """Insert rows directly through the driver, which skips SQLAlchemy's work per row; on PostgreSQL with COPY."""
    if connection.dialect.name == "sqlite":
        execute_many(connection, _sqlite_insert(table), rows)
    elif len(rows) == 1:
        connection.execute(table.insert(), map_row(table, rows[0]))
    else:
        from attestlab.core.db import copying  # loads the driver, which SQLite does not need

        copying.copy_rows(connection, table, rows)


def map_row(table: Table, row: TableRow) -> Mapping[str, object]:
    """Return a row by its columns."""
    return row if isinstance(row, Mapping) else dict(zip(table.columns.keys(), row, strict=True))


def _update(connection: Connection, table: Table, names: tuple[str, ...], rows: Sequence[Mapping[str, object]]) -> None:
    """Update rows directly through the driver, as `_insert` does; on PostgreSQL many rows with one statement."""
    if connection.dialect.name == "sqlite":
        execute_many(connection, _sqlite_update(table, names), rows)
        return
    if len(rows) > 1 and not any(isinstance(table.c[name].type, Float) for name in names):
        _json_update(table, names).run(connection, rows)
        return
    used = (*names, *(column.name for column in table.primary_key))
    connection.execute(_update_of(table, names), [{f"_{name}": row[name] for name in used} for row in rows])


class DriverStatement:
    """A driver-level statement for many rows: its text, and the conversion of rows to its parameters."""

    def __init__(self, text: str, table: Table, names: list[str]) -> None:
        self.text = text
        self._get_values = itemgetter(*names)
        processors = ((place, bind_processor(table, name)) for place, name in enumerate(names))
        self._processors: BindProcessors = [(place, process) for place, process in processors if process is not None]

    @classmethod
    def compile(cls, statement: Update | Insert, table: Table) -> DriverStatement:
        """Compile a statement for SQLite whose parameters are named after columns, perhaps with `_` before it."""
        compiled = statement.compile(dialect=_SQLITE)
        return cls(str(compiled), table, [name.removeprefix("_") for name in compiled.positiontup or []])

    def parameters(self, rows: Sequence[TableRow]) -> list[tuple[object, ...]]:
        """Return the values of rows, in the driver's order and in its types; a tuple has that order already."""
        get_values = self._get_values
        columns: list[Iterable[object]] = list(
            zip(*[row if isinstance(row, tuple) else get_values(row) for row in rows], strict=True)
        )
        for place, process in self._processors:
            columns[place] = map(process, columns[place])
        return list(zip(*columns, strict=True))


def execute_many(connection: Connection, statement: DriverStatement, rows: Sequence[TableRow]) -> None:
    """Run a driver-level statement for many rows."""
    connection.exec_driver_sql(statement.text, statement.parameters(rows))


@cache
def _sqlite_insert(table: Table) -> DriverStatement:
    return DriverStatement.compile(table.insert(), table)


@cache
def _sqlite_update(table: Table, names: tuple[str, ...]) -> DriverStatement:
    return DriverStatement.compile(_update_of(table, names), table)


@cache
def _json_update(table: Table, names: tuple[str, ...]) -> JsonUpdate:
    from attestlab.core.db.json_upserts import JsonUpdate  # loads the driver, which SQLite does not need

    return JsonUpdate(table, names)


@cache
def _update_of(table: Table, names: tuple[str, ...]) -> Update:
    """Build the UPDATE; each parameter is named after its column, with `_` before it."""
    keys = [column == bindparam(f"_{column.name}") for column in table.primary_key]
    return update(table).where(*keys).values({name: bindparam(f"_{name}") for name in names})


def bind_processor(table: Table, name: str) -> Callable[[Any], Any] | None:  # as `BindProcessors`
    """Return the function that converts a column's value for SQLite; None if it is stored unchanged.

    For times and ids it is a faster equivalent of SQLAlchemy's own bind processor.
    """
    kind = table.c[name].type.dialect_impl(_SQLITE)
    if isinstance(kind, UTCDateTime):
        return _format_time
    if isinstance(kind, Uuid):
        return _format_uuid if table.c[name].nullable else attrgetter("hex")
    return kind.bind_processor(_SQLITE)


def _format_uuid(value: UUID | None) -> str | None:
    return None if value is None else value.hex


@lru_cache(maxsize=1_024)
def _format_time(at: datetime | None) -> str | None:
    """Format a time as SQLite stores it, in UTC; cached because several rows of a transaction share one time.

    Raises:
        ValueError: the time has no UTC offset, so it is ambiguous.
    """
    if at is None:
        return None
    if at.tzinfo is not UTC:
        if at.utcoffset() is None:
            raise ValueError(f"{at!r} has no UTC offset. Pass an aware datetime.")
        at = at.astimezone(UTC)
    return at.isoformat(" ", "microseconds")[:26]


_RANKS: dict[str, int] = {}


def _rank(table: Table) -> int:
    """Return the table's position in the dependency order of all tables: parents before children."""
    if table.name not in _RANKS:
        _RANKS.update({known.name: rank for rank, known in enumerate(SQLModel.metadata.sorted_tables)})
    return _RANKS[table.name]
