"""Whether a database answers: a query that checks it, and the errors of one that does not."""

from __future__ import annotations

from sqlalchemy import Connection, text

_TRANSIENT = frozenset({"OperationalError", "InternalError", "InterfaceError", "DatabaseError", "TimeoutError"})


def is_unreachable(error: BaseException) -> bool:
    """Whether the database or disk could not be reached, locked or read; transient, and not the request's fault.

    Recognizes the class names that both drivers and SQLAlchemy use for such errors (PEP 249).
    """
    return isinstance(error, OSError) or type(error).__name__ in _TRANSIENT


def ping(connection: Connection) -> None:
    """Run a trivial query to check that the database answers."""
    connection.execute(text("SELECT 1"))
