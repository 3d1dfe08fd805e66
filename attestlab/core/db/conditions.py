"""Conditions that both databases read alike: a column has one of many ids, or holds a text.

The only parameter of a condition on ids is the whole list: a parameter for each id costs 10 us, and SQLite takes 32,766
of them, PostgreSQL 65,535.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast
from uuid import UUID

import orjson
from sqlalchemy import ColumnElement, Dialect, Text, bindparam, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Boolean, TypeDecorator


class _IdList(TypeDecorator[Collection[UUID]]):
    """A list of ids as one text: a JSON array for SQLite, which stores ids in hex, and an array for PostgreSQL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Collection[UUID] | None, dialect: Dialect) -> str:
        """Write the ids as the database reads them."""
        ids = value or ()
        if dialect.name == "sqlite":
            return orjson.dumps([each.hex for each in ids]).decode()
        return "{" + ",".join(each.hex for each in ids) + "}"


class _IsAmong(FunctionElement[bool]):
    """SQL condition: a column of ids has one of a list."""

    inherit_cache = True
    type = Boolean()


def is_among(column: ColumnElement[UUID], ids: Collection[UUID] | str) -> ColumnElement[bool]:
    """Whether a column has one of these ids, however many; a text names the parameter that will have them."""
    if isinstance(ids, str):
        return cast("ColumnElement[bool]", _IsAmong(column, bindparam(ids, type_=_IdList())))
    return cast("ColumnElement[bool]", _IsAmong(column, bindparam("ids", ids, unique=True, type_=_IdList())))


@compiles(_IsAmong, "sqlite")
def _compile_for_sqlite(element: _IsAmong, compiler: SQLCompiler, **more: object) -> str:
    column, ids = (compiler.process(each, **more) for each in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"


@compiles(_IsAmong, "postgresql")
def _compile_for_postgresql(element: _IsAmong, compiler: SQLCompiler, **more: object) -> str:
    """Compile to text: as `= ANY (CAST(...))`, PostgreSQL would read the whole list again for each row."""
    column, ids = (compiler.process(each, **more) for each in element.clauses)
    return f"{column} IN (SELECT unnest(CAST({ids} AS UUID[])))"


def holds_text(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Look for a text as it is, in any case: LIKE has wildcards, and ignores case on SQLite alone."""
    lowered = func.lower(column)
    return func.replace(lowered, func.lower(literal(text)), "") != lowered
