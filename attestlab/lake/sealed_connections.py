"""DuckDB connections for the text of a caller: they have the given tables and can access nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from uuid import UUID

import duckdb
import pyarrow as pa
from pyarrow import dataset as datasets

from attestlab.core.errors import ValidationFailed
from attestlab.lake.parts import report_unreadable_part
from attestlab.lake.query_errors import explain_error

MEMORY_LIMIT = "1GB"  # of one connection; it cannot spill to disk, because it may not access files
_STREAM_ERROR = re.compile("IOError|OSError|[Ss]tream|get_next")
"""DuckDB's message if pyarrow cannot continue reading a part; there is no specific error class."""

_NO_FOLDER = "none"  # no file is opened, and DuckDB names its default, below the home folder, in settings and errors
_SEALED_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY_LIMIT,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # variables of the calling code are not tables
    **dict.fromkeys(("home_directory", "secret_directory", "extension_directory"), _NO_FOLDER),
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = (
    *("now", "get_current_timestamp", "transaction_timestamp"),  # `current_timestamp` is the second
    *("pg_conf_load_time", "pg_postmaster_start_time"),
)
_TIME_FUNCTIONS = {
    **{f"{name}()": "{now}" for name in _TIMES},
    **dict.fromkeys(("today()", "current_date()"), "{now}::DATE"),
    "get_current_time()": "{now}::TIMETZ",  # `current_time`
    "current_localtime()": "{now}::TIMETZ::TIME",  # `localtime`
    "current_localtimestamp()": "{now}::TIMESTAMP",  # `localtimestamp`
    "ago(duration)": "{now} - duration::INTERVAL",
    "age(moment)": "system.main.age({now}::DATE::TIMESTAMP, moment), "
    "(later, earlier) AS system.main.age(later, earlier)",
}
"""DuckDB's functions that read the clock, and what they return instead, as of the time `now`."""

Tables = list[pa.Table | datasets.Dataset]
"""pyarrow tables and data sets; all rows are the caller's, each once."""


def open_sealed(
    tables: Mapping[str, Tables],
    views: Mapping[str, str] | None = None,
    *,
    has_plain_types: bool = False,
    owner: UUID | None = None,
    now: datetime | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a connection that has these tables, each the union of its parts, and can access nothing else.

    `views` are the queries of further views. Names are ours, never a caller's. With `has_plain_types`, results in
    Arrow have types that every program reads: sums of whole numbers are decimals and UUIDs are texts. Otherwise these
    are extension types of DuckDB, which a DuckDB on the other side restores.

    Without an `owner` the connection has a separate DuckDB instance, which takes 10 ms to open. The connections of
    an owner, a tenant, share the instance that is open until another tenant needs one. No connection sees the tables
    of another, but all of them share `MEMORY_LIMIT`; so a child process uses this, which runs one query at a time.

    `now` is what SQL's functions of the current time return; by default the machine's time.
    """
    if owner is None:
        return _add_views(_open_instance(has_plain_types), tables, views or {}, now)
    try:
        return _add_views(_open_instance_of(owner, has_plain_types).cursor(), tables, views or {}, now)
    except duckdb.FatalException:  # an earlier query broke the instance
        _open_instance_of.cache_clear()
        return _add_views(_open_instance_of(owner, has_plain_types).cursor(), tables, views or {}, now)


@lru_cache(maxsize=1)
def _open_instance_of(owner: UUID, has_plain_types: bool) -> duckdb.DuckDBPyConnection:
    """Return the open instance if it is this tenant's, otherwise another one."""
    return _open_instance(has_plain_types)


def _open_instance(has_plain_types: bool) -> duckdb.DuckDBPyConnection:
    instance = duckdb.connect(":memory:", config=_SEALED_CONFIG)
    instance.execute(f"SET GLOBAL arrow_lossless_conversion = {str(not has_plain_types).lower()}")
    instance.execute("SET GLOBAL TimeZone = 'UTC'")  # otherwise times are in the machine's zone
    measure_progress(instance)
    instance.execute("SET GLOBAL enable_external_access = false")
    instance.execute("SET GLOBAL lock_configuration = true")
    return instance


def _add_views(
    connection: duckdb.DuckDBPyConnection,
    tables: Mapping[str, Tables],
    views: Mapping[str, str],
    now: datetime | None,
) -> duckdb.DuckDBPyConnection:
    """Add the tables and views, and the time, as temporary ones, which no other connection of the instance sees."""
    if now is not None:
        _set_time(connection, now)
    for name, members in tables.items():
        for number, table in enumerate(members):
            connection.register(f"{name}_{number}", table)
        union = " UNION ALL BY NAME ".join(f"SELECT * FROM {name}_{number}" for number in range(len(members)))
        connection.execute(f"CREATE TEMP VIEW {name} AS {union}")
    for name, query in views.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")
    return connection


def _set_time(connection: duckdb.DuckDBPyConnection, now: datetime) -> None:
    """Let the functions of the current time and date use this time, in UTC."""
    time = f"make_timestamptz({(now - _EPOCH) // timedelta(microseconds=1)})"
    macros = (f"CREATE TEMP MACRO {name} AS {value.format(now=time)}" for name, value in _TIME_FUNCTIONS.items())
    connection.execute(";".join(macros))


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Translate read errors of parts: one with an intact schema may be damaged inside, which shows only during
    reading.

    Raises:
        Unavailable: a part is damaged, or was removed before it was read.
    """
    try:
        yield
    except (duckdb.InvalidInputException, duckdb.IOException, pa.ArrowException) as error:
        if not _STREAM_ERROR.search(str(error)):
            raise
        raise report_unreadable_part() from error


@contextmanager
def restore_duckdb_errors() -> Iterator[None]:
    """Restore the class of DuckDB's errors that reach a reader of Arrow batches, which has the message only.

    Raises:
        duckdb.Error: DuckDB failed.
    """
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        kind, separator, _ = str(error).partition(" Error: ")
        if not separator:
            raise
        name = f"{kind.title().replace(' ', '')}Exception"
        raise getattr(duckdb, name, duckdb.Error)(str(error)) from error


def measure_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Make DuckDB measure the progress of queries without printing; in Jupyter that requires a package for widgets."""
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")


def require_one_query(connection: duckdb.DuckDBPyConnection, query: str, *, example: str) -> None:
    """Require one SELECT; the message of the error has the `example`.

    Raises:
        ValidationFailed: it is something else, or not SQL.
    """
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise explain_error(error, query) from error
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise ValidationFailed.of("/sql", "query", f"Send one query that reads, such as `{example}`.")
