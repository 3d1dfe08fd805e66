"""Reads that PostgreSQL answers together with the statement that takes the writer's lock.

Each statement under the lock waits for a socket while other writers wait for the lock. So the reads of a group are
noted before it, and one pipeline sends the lock's statement and all of them. The jobs then run the same statements as
ever, and get the answers that are there.

PostgreSQL runs the statements of a pipeline in order, each in a snapshot that begins with it (READ COMMITTED). So the
answers have everything that was committed before the lock was granted. The first statement that may change records
drops the answers and values that no job has asked for yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from psycopg import Binary
from sqlalchemy import Connection, Engine, Executable, event
from sqlalchemy.engine import IteratorResult
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.engine.result import SimpleResultMetaData

from attestlab.core.db.tables import Result
from attestlab.core.db.transaction import VALUES

if TYPE_CHECKING:
    import psycopg
    from psycopg.abc import Params
    from psycopg.rows import TupleRow
    from sqlalchemy.engine.interfaces import DBAPICursor

    from attestlab.core.db.transaction import Foreseen

    Cursor = psycopg.Cursor[TupleRow]

NOTE = "noted_reads"  # option of an execution that sends nothing
_SEND, _ANSWERS = "sent_reads", "answered_reads"  # other options
_READ = "SELECT"


@dataclass(slots=True)
class _Read:
    """A statement for the driver and, once it was sent, the cursor with its answer."""

    text: str
    parameters: Params | None
    cursor: Cursor | None = None

    def answer(self) -> Cursor:
        assert self.cursor is not None, "the read was not sent"
        return self.cursor


class ReadAhead:
    """The reads of one transaction that are sent with its first statement."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reads: list[_Read] = []

    def note(self, foreseen: Foreseen) -> None:
        """Note what each kind of read will ask for; this sends nothing."""
        for kind, keys in foreseen.items():
            kind.ask(self._note, list(keys))

    def send_with(self, lock_statement: str) -> timedelta:
        """Send a statement and the reads; returns the time between the end of the first and that of the last.

        `lock_statement` is a SELECT whose last column is `clock_timestamp()`. Without reads it is sent alone.
        """
        connection, reads = self._connection, self._reads
        if not reads:
            connection.exec_driver_sql(lock_statement)
            return timedelta()
        self._note_text("SELECT clock_timestamp()")
        locked = connection.exec_driver_sql(lock_statement, execution_options={_SEND: reads}).one()
        (ended_at,) = reads.pop().answer().fetchall()[0]
        connection.execution_options(**{_ANSWERS: reads})
        return cast(timedelta, ended_at - locked[-1])

    def _note(self, statement: Executable, parameters: Mapping[str, object] | None = None, /) -> Result:
        """Note a statement; its result has no rows."""
        self._connection.execute(statement, parameters, execution_options={NOTE: self._reads})
        return cast(Result, IteratorResult(SimpleResultMetaData(["unread"]), iter(())))

    def _note_text(self, statement: str) -> None:
        self._connection.exec_driver_sql(statement, execution_options={NOTE: self._reads})


def accept_reads_ahead(engine: Engine) -> None:
    """Let the connections of an engine note and answer the reads of `ReadAhead`."""
    event.listen(engine, "do_execute", _execute)
    event.listen(engine, "do_executemany", _execute)


def _execute(cursor: Cursor, statement: str, parameters: Params | None, context: DefaultExecutionContext) -> bool:
    """Note, send or answer a statement; returns whether it needs nothing else, as SQLAlchemy's event requires."""
    options = context.execution_options
    if NOTE in options:
        options[NOTE].append(_Read(statement, parameters))
        return True
    if _SEND in options:
        _send(cursor, statement, parameters, options[_SEND])
        return True
    if _ANSWERS not in options:
        return False
    if statement.startswith(_READ):
        return _answer(statement, parameters, context, options[_ANSWERS])
    options[_ANSWERS].clear()
    options.get(VALUES, {}).clear()
    return False


def _send(cursor: Cursor, statement: str, parameters: Params | None, reads: list[_Read]) -> None:
    with cursor.connection.pipeline():
        cursor.execute(statement, parameters)
        for read in reads:
            read.cursor = cursor.connection.cursor()
            read.cursor.execute(read.text, read.parameters)


def _answer(statement: str, parameters: Params | None, context: DefaultExecutionContext, reads: list[_Read]) -> bool:
    """Give a statement the answer that is there, once."""
    for place, read in enumerate(reads):
        if read.text == statement and _unwrap(read.parameters) == _unwrap(parameters):
            context.cursor = cast("DBAPICursor", reads.pop(place).answer())  # SQLAlchemy reads the result from it
            return True
    return False


def _unwrap(parameters: object) -> object:
    """Return parameters that can be compared; the driver's wrappers of bytes are equal to themselves only."""
    if not isinstance(parameters, dict):
        return parameters
    return {name: value.obj if isinstance(value, Binary) else value for name, value in parameters.items()}
