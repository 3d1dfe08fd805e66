"""The engines of a test process share their compiled statements, those of SQLite and those of PostgreSQL.

Each test opens an installation with a new engine, and compiling the same hundred statements again took a
third of its time. SQLAlchemy keeps compiled statements by engine and dialect, so here all dialects of a type are equal.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

DIALECTS = (SQLiteDialect_pysqlite, PGDialect_psycopg)
_compiled: LRUCache[Any, Any] = LRUCache(5_000)


def share_compiled_statements() -> None:
    """Give every engine that connects from now on the same cache of compiled statements."""
    for dialect in DIALECTS:
        dialect.__eq__ = lambda one, other: type(one) is type(other)  # type: ignore[method-assign,assignment]
        dialect.__hash__ = lambda one: hash(type(one))  # type: ignore[method-assign,assignment]
    event.listen(Engine, "engine_connect", _share)


def _share(connection: Connection) -> None:
    if isinstance(connection.dialect, DIALECTS):
        connection.engine._compiled_cache = _compiled
