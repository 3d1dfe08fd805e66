"""The SQL statements that some work sends to the database of an installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, ExecutionContext, event

from attestlab.core.db.read_ahead import NOTE
from attestlab.installation import Installation


@contextmanager
def statements_of(lab: Installation) -> Iterator[list[str]]:
    """The statements that are executed inside the block, in order."""
    sent: list[str] = []

    def note(
        _connection: Connection, _cursor: object, statement: str, _: object, context: ExecutionContext, _many: bool
    ) -> None:
        if NOTE not in context.execution_options:  # it is executed later
            sent.append(statement)

    event.listen(lab.storage.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(lab.storage.engine, "before_cursor_execute", note)
