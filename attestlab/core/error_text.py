"""Error texts for logs, without the values of rows, which are personal data or secrets.

PostgreSQL quotes values in DETAIL and CONTEXT, and in the message itself for data that it cannot convert
(SQLSTATE class 22). DuckDB and Pydantic quote values that they could not convert. SQLAlchemy appends the
parameters of a statement.
"""

from __future__ import annotations

import errno
from traceback import walk_tb
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import psycopg
    from pydantic import ValidationError

MAX_TEXT = 2_000
MAX_STATEMENT = 300
DATA_EXCEPTION = "22"
DUCKDB_KINDS_WITHOUT_VALUES = frozenset(
    {"IOException", "OutOfMemoryException", "InterruptException", "PermissionException", "TransactionException"}
)


def text_without_values(error: BaseException) -> str:
    """Return the message of an error without the values that it would quote."""
    library = type(error).__module__.partition(".")[0]
    if library == "sqlalchemy":
        text = _of_sqlalchemy(error)
    elif library == "psycopg":
        text = _of_psycopg(cast("psycopg.Error", error))
    elif library in ("duckdb", "_duckdb"):
        text = str(error) if type(error).__name__ in DUCKDB_KINDS_WITHOUT_VALUES else ""
    elif library in ("pydantic", "pydantic_core"):
        text = _of_pydantic(cast("ValidationError", error))
    else:
        text = _plain(error)
    return text[:MAX_TEXT]


def one_line(error: BaseException) -> str:
    """Format an error as one line without values (class, message, place), for a process that has no log."""
    places = [f" ({frame.f_code.co_filename}:{number})" for frame, number in walk_tb(error.__traceback__)]
    place = places[-1] if places else ""
    return f"{type(error).__name__}: {text_without_values(error)}{place}".replace("\n", " ")


def cause_of(error: BaseException) -> str:
    """Return the code of an error: its errno name, SQLite's result code, the SQLSTATE, or its class."""
    cause: object = getattr(error, "orig", None) or error
    if (name := getattr(cause, "sqlite_errorname", None)) or (name := getattr(cause, "sqlstate", None)):
        return str(name)
    number = getattr(cause, "errno", None)
    return errno.errorcode.get(number, type(cause).__name__) if isinstance(number, int) else type(cause).__name__


def _of_sqlalchemy(error: BaseException) -> str:
    """Return the driver's error and the beginning of the statement, whose values are parameters, not in its text."""
    cause, statement = getattr(error, "orig", None), getattr(error, "statement", None)
    if cause is None:
        return _plain(error) if statement is None else f"[SQL: {statement[:MAX_STATEMENT]}]"
    text = f"{type(cause).__name__}: {text_without_values(cause)}"
    return text if statement is None else f"{text} [SQL: {statement[:MAX_STATEMENT]}]"


def _of_psycopg(error: psycopg.Error) -> str:
    """Return SQLSTATE and primary message; an error without diagnostics comes from the client library itself."""
    state: str | None = error.sqlstate
    if state is None:
        return _plain(error).partition("\n")[0]
    if state.startswith(DATA_EXCEPTION):
        return f"SQLSTATE {state}"
    return f"SQLSTATE {state}: {error.diag.message_primary}"


def _of_pydantic(error: ValidationError) -> str:
    try:
        errors = error.errors(include_input=False, include_context=False, include_url=False)
        return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['type']}" for item in errors)
    except Exception:  # a Pydantic error without a list of errors
        return ""


def _plain(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(an error without a text)"
